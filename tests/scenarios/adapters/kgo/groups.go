package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A consumer of a group, polled until it leaves.
type member struct {
	client   *kgo.Client
	done     chan struct{}
	mutex    sync.Mutex
	records  []*kgo.Record
	assigned map[string]map[int32]bool
}

func (s *steps) join(step *Step) error {
	one := &member{done: make(chan struct{}), assigned: map[string]map[int32]bool{}}
	balancers := map[string]kgo.GroupBalancer{
		"": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(),
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(s.bootstrap...), kgo.MetadataMinAge(50 * time.Millisecond), kgo.ClientID(step.Member),
		kgo.ConsumerGroup(step.Group), kgo.ConsumeTopics(step.Topics...), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.Balancers(balancers[step.Assignor]),
		kgo.HeartbeatInterval(300 * time.Millisecond), kgo.FetchMaxWait(50 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, found map[string][]int32) { one.change(found, true) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, found map[string][]int32) { one.change(found, false) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, found map[string][]int32) { one.change(found, false) }),
	}
	if step.Instance != "" {
		options = append(options, kgo.InstanceID(step.Instance))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	one.client = client
	s.members[step.Member] = one
	go one.poll()
	return nil
}

func (m *member) poll() {
	defer close(m.done)
	for {
		fetches := m.client.PollFetches(context.Background())
		if fetches.IsClientClosed() {
			return
		}
		m.mutex.Lock()
		m.records = append(m.records, fetches.Records()...)
		m.mutex.Unlock()
	}
}

func (m *member) change(found map[string][]int32, taken bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for topic, partitions := range found {
		if m.assigned[topic] == nil {
			m.assigned[topic] = map[int32]bool{}
		}
		for _, partition := range partitions {
			if taken {
				m.assigned[topic][partition] = true
			} else {
				delete(m.assigned[topic], partition)
			}
		}
	}
}

func (m *member) read() []*kgo.Record {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return append([]*kgo.Record(nil), m.records...)
}

func (m *member) partitions() []row {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	found := []row{}
	for topic, partitions := range m.assigned {
		for partition := range partitions {
			found = append(found, row{topic, partition})
		}
	}
	sort.Slice(found, func(a, b int) bool { return fmt.Sprint(found[a]) < fmt.Sprint(found[b]) })
	return found
}

func (m *member) leave() {
	m.client.Close()
	<-m.done
}

func (s *steps) settle(ctx context.Context, step *Step) (any, error) {
	for ctx.Err() == nil {
		found, total, all := map[string][]row{}, 0, true
		for _, name := range step.Members {
			found[name] = s.members[name].partitions()
			total += len(found[name])
			all = all && len(found[name]) > 0
		}
		if all && total == step.count() {
			return found, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, ctx.Err()
}

func (s *steps) received(ctx context.Context, step *Step) (any, error) {
	for ctx.Err() == nil {
		found := []row{}
		for _, name := range step.Members {
			for _, record := range s.members[name].read() {
				found = append(found, shown(record))
			}
		}
		if len(found) >= step.Count {
			return sorted(found), nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, ctx.Err()
}

func (s *steps) listGroups(ctx context.Context, step *Step) (any, error) {
	found, err := s.admin.ListGroups(ctx)
	rows := []row{}
	for _, one := range found.Sorted() {
		if strings.HasPrefix(one.Group, step.Prefix) {
			rows = append(rows, row{one.Group, one.ProtocolType, one.State, one.Coordinator})
		}
	}
	return rows, err
}

func (s *steps) describeGroup(ctx context.Context, step *Step) (any, error) {
	described, err := s.admin.DescribeGroups(ctx, step.Group)
	if err != nil {
		return nil, err
	}
	found := described[step.Group]
	members := []map[string]any{}
	for _, one := range found.Members {
		assigned := []row{}
		if consumer, ok := one.Assigned.AsConsumer(); ok {
			for _, topic := range consumer.Topics {
				assigned = append(assigned, row{topic.Topic, topic.Partitions})
			}
		}
		members = append(members, map[string]any{
			"client": one.ClientID, "host": one.ClientHost, "instance": one.InstanceID, "assigned": assigned,
		})
	}
	sort.Slice(members, func(a, b int) bool { return members[a]["client"].(string) < members[b]["client"].(string) })
	return map[string]any{
		"state": found.State, "type": found.ProtocolType, "assignor": found.Protocol, "coordinator": found.Coordinator.NodeID,
		"members": members,
	}, found.Err
}
