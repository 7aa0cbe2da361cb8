// Steps by franz-go. See steps.py for what a step is and how it is answered.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const timeout = 25 * time.Second

// Step has the fields of all steps.
type Step struct {
	Do          string
	Topic       string
	Topics      []string
	Partition   *int32
	Partitions  json.RawMessage
	Replication int16
	Configs     map[string]*string
	Records     [][]any
	Codec       string
	Acks        any
	Idempotent  bool
	Offset      any
	Offsets     [][]any
	Count       int
	Before      int64
	Timestamp   int64
	Reset       string
	Group       string
	Member      string
	Members     []string
	Assignor    string
	Instance    string
	Prefix      string
	Kind        string
	Name        string
	Names       []string
	Changes     [][]*string
}

func (step *Step) count() int {
	count := 1
	if len(step.Partitions) > 0 {
		must(json.Unmarshal(step.Partitions, &count))
	}
	return count
}

type steps struct {
	bootstrap []string
	admin     *kadm.Client // a new one for each step
	members   map[string]*member
}

type row []any

func main() {
	all := &steps{strings.Split(os.Args[1], ","), nil, map[string]*member{}}
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var step Step
		must(json.Unmarshal(line, &step))
		answer := map[string]any{}
		if found, err := all.run(&step); err == nil {
			answer["answer"] = found
		} else {
			var refused *kerr.Error
			if !errors.As(err, &refused) {
				must(err)
			}
			answer["error"], answer["message"] = refused.Code, err.Error()
		}
		shown, err := json.Marshal(answer)
		must(err)
		fmt.Println(string(shown))
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (s *steps) run(step *Step) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.bootstrap...), kgo.MetadataMinAge(50*time.Millisecond))
	must(err)
	defer client.Close()
	s.admin = kadm.NewClient(client)
	switch step.Do {
	case "produce":
		return s.produce(ctx, step)
	case "consume":
		return s.consume(ctx, step)
	case "watermarks":
		return s.watermarks(ctx, step)
	case "offset_for_time":
		return s.offsetForTime(ctx, step)
	case "commit":
		return nil, s.commit(ctx, step)
	case "committed":
		return s.committed(ctx, step)
	case "delete_offsets":
		return nil, s.deleteOffsets(ctx, step)
	case "join":
		return nil, s.join(step)
	case "settle":
		return s.settle(ctx, step)
	case "received":
		return s.received(ctx, step)
	case "commit_position":
		one := s.members[step.Member]
		return nil, one.client.CommitRecords(ctx, one.read()...)
	case "leave":
		s.members[step.Member].leave()
		delete(s.members, step.Member)
		return nil, nil
	case "list_groups":
		return s.listGroups(ctx, step)
	case "describe_group":
		return s.describeGroup(ctx, step)
	case "delete_group":
		found, err := s.admin.DeleteGroups(ctx, step.Group)
		return nil, errors.Join(err, found.Error())
	case "create_topic":
		made, err := s.admin.CreateTopic(ctx, int32(step.count()), max(step.Replication, 1), step.Configs, step.Topic)
		if err == nil {
			err = made.Err
		}
		return row{made.NumPartitions, made.ReplicationFactor, made.ErrMessage}, err
	case "delete_topic":
		_, err := s.admin.DeleteTopic(ctx, step.Topic)
		return nil, err
	case "create_partitions":
		found, err := s.admin.UpdatePartitions(ctx, step.Count, step.Topic)
		return nil, errors.Join(err, found.Error())
	case "list_topics":
		return s.listTopics(ctx, step)
	case "describe_topic":
		return s.describeTopic(ctx, step)
	case "describe_cluster":
		found, err := s.admin.BrokerMetadata(ctx)
		return map[string]any{"brokers": found.Brokers.NodeIDs(), "controller": found.Controller, "has id": found.Cluster != ""}, err
	case "describe_configs":
		return s.describeConfigs(ctx, step)
	case "alter_configs":
		return nil, s.alterConfigs(ctx, step)
	case "delete_records":
		return s.deleteRecords(ctx, step)
	}
	return nil, fmt.Errorf("no such step: %s", step.Do)
}

// Producing and consuming

var codecs = map[string]kgo.CompressionCodec{
	"":       kgo.NoCompression(),
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func (s *steps) produce(ctx context.Context, step *Step) (any, error) {
	acks := kgo.AllISRAcks()
	switch step.Acks {
	case 0.0:
		acks = kgo.NoAck()
	case 1.0:
		acks = kgo.LeaderAck()
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(s.bootstrap...), kgo.MetadataMinAge(50 * time.Millisecond), kgo.RequiredAcks(acks),
		kgo.ProducerBatchCompression(codecs[step.Codec]), kgo.AllowAutoTopicCreation(), kgo.ProducerLinger(10 * time.Millisecond),
		kgo.UnknownTopicRetries(20),
	}
	if !step.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	if step.Partition != nil {
		options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	client, err := kgo.NewClient(options...)
	must(err)
	defer client.Close()
	var records []*kgo.Record
	for _, fields := range step.Records {
		record := &kgo.Record{
			Topic: step.Topic, Key: data(fields[0]), Value: data(fields[1]), Timestamp: time.UnixMilli(int64(fields[2].(float64))),
		}
		if step.Partition != nil {
			record.Partition = *step.Partition
		}
		for _, header := range fields[3].([]any) {
			pair := header.([]any)
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: pair[0].(string), Value: data(pair[1])})
		}
		records = append(records, record)
	}
	done := client.ProduceSync(ctx, records...)
	found := []row{}
	for _, one := range done {
		found = append(found, row{one.Record.Partition, one.Record.Offset})
	}
	return sorted(found), done.FirstErr()
}

func (s *steps) consume(ctx context.Context, step *Step) (any, error) {
	start := kgo.NewOffset().AtStart()
	if offset, ok := step.Offset.(float64); ok {
		start = kgo.NewOffset().At(int64(offset))
	}
	reset := kgo.NoResetOffset()
	if step.Reset == "earliest" {
		reset = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(s.bootstrap...), kgo.MetadataMinAge(50*time.Millisecond), kgo.ConsumeResetOffset(reset),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{step.Topic: {*step.Partition: start}}),
	)
	must(err)
	defer client.Close()
	found := []row{}
	for len(found) < step.Count {
		fetches := client.PollRecords(ctx, step.Count-len(found))
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for _, record := range fetches.Records() {
			found = append(found, shown(record))
		}
	}
	return found, nil
}

func data(value any) []byte {
	if text, ok := value.(string); ok {
		return []byte(text)
	}
	return nil
}

func text(data []byte) any {
	if data == nil {
		return nil
	}
	return string(data)
}

func shown(record *kgo.Record) row {
	headers := []row{}
	for _, header := range record.Headers {
		headers = append(headers, row{header.Key, text(header.Value)})
	}
	return row{
		record.Partition, record.Offset, text(record.Key), text(record.Value), record.Timestamp.UnixMilli(),
		record.Attrs.TimestampType(), record.Attrs.CompressionType(), record.LeaderEpoch, headers,
	}
}

// By the first two numbers of each row.
func sorted(rows []row) []row {
	sort.SliceStable(rows, func(a, b int) bool {
		one, other := rows[a], rows[b]
		if one[0] != other[0] {
			return one[0].(int32) < other[0].(int32)
		}
		return one[1].(int64) < other[1].(int64)
	})
	return rows
}

// Offsets

func (s *steps) watermarks(ctx context.Context, step *Step) (any, error) {
	low, err := s.admin.ListStartOffsets(ctx, step.Topic)
	if err != nil {
		return nil, err
	}
	high, err := s.admin.ListEndOffsets(ctx, step.Topic)
	first, _ := low.Lookup(step.Topic, *step.Partition)
	last, _ := high.Lookup(step.Topic, *step.Partition)
	return row{first.Offset, last.Offset}, errors.Join(err, first.Err, last.Err)
}

func (s *steps) offsetForTime(ctx context.Context, step *Step) (any, error) {
	found, err := s.admin.ListOffsetsAfterMilli(ctx, step.Timestamp, step.Topic)
	one, _ := found.Lookup(step.Topic, *step.Partition)
	return one.Offset, errors.Join(err, one.Err) // the end where no record is that late: so does kadm
}

func (s *steps) commit(ctx context.Context, step *Step) error {
	offsets := kadm.Offsets{}
	for _, fields := range step.Offsets {
		offsets.Add(kadm.Offset{
			Topic: step.Topic, Partition: int32(fields[0].(float64)), At: int64(fields[1].(float64)),
			LeaderEpoch: -1, Metadata: fields[2].(string),
		})
	}
	return s.admin.CommitAllOffsets(ctx, step.Group, offsets)
}

func (s *steps) committed(ctx context.Context, step *Step) (any, error) {
	var partitions []int32
	must(json.Unmarshal(step.Partitions, &partitions))
	found, err := s.admin.FetchOffsets(ctx, step.Group)
	rows := []row{}
	for _, number := range partitions {
		if one, ok := found.Lookup(step.Topic, number); ok && one.At >= 0 {
			rows = append(rows, row{number, one.At, one.Metadata})
		} else {
			rows = append(rows, row{number, nil, nil})
		}
	}
	return rows, err
}

func (s *steps) deleteOffsets(ctx context.Context, step *Step) error {
	var partitions []int32
	must(json.Unmarshal(step.Partitions, &partitions))
	asked := kadm.TopicsSet{}
	asked.Add(step.Topic, partitions...)
	found, err := s.admin.DeleteOffsets(ctx, step.Group, asked)
	return errors.Join(err, found.Error())
}

// Administration

func (s *steps) listTopics(ctx context.Context, step *Step) (any, error) {
	found, err := s.admin.ListTopicsWithInternal(ctx)
	rows := []row{}
	for _, one := range found.Sorted() {
		if strings.HasPrefix(one.Topic, step.Prefix) || strings.HasPrefix(one.Topic, "__consumer") {
			rows = append(rows, row{one.Topic, one.IsInternal, len(one.Partitions)})
		}
	}
	return rows, err
}

func (s *steps) describeTopic(ctx context.Context, step *Step) (any, error) {
	found, err := s.admin.ListTopics(ctx, step.Topic)
	one := found[step.Topic]
	rows := []row{}
	for _, each := range one.Partitions.Sorted() {
		rows = append(rows, row{each.Partition, each.Leader, each.LeaderEpoch, each.Replicas, each.ISR, each.OfflineReplicas})
	}
	return map[string]any{"internal": one.IsInternal, "partitions": rows}, errors.Join(err, one.Err)
}

func (s *steps) describeConfigs(ctx context.Context, step *Step) (any, error) {
	var found kadm.ResourceConfigs
	var err error
	if step.Kind == "broker" {
		found, err = s.admin.DescribeBrokerConfigs(ctx, 1)
	} else {
		found, err = s.admin.DescribeTopicConfigs(ctx, step.Name)
	}
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, name := range step.Names {
		wanted[name] = true
	}
	shown := map[string]any{}
	for _, each := range found[0].Configs {
		if len(wanted) > 0 && !wanted[each.Key] {
			continue
		}
		synonyms := []row{}
		for _, one := range each.Synonyms {
			synonyms = append(synonyms, row{one.Key, one.Value, one.Source.String()})
		}
		shown[each.Key] = row{each.Value, each.Sensitive, each.Source.String(), synonyms}
	}
	return shown, found[0].Err
}

func (s *steps) alterConfigs(ctx context.Context, step *Step) error {
	operations := map[string]kadm.IncrementalOp{
		"SET": kadm.SetConfig, "DELETE": kadm.DeleteConfig, "APPEND": kadm.AppendConfig, "SUBTRACT": kadm.SubtractConfig,
	}
	var changes []kadm.AlterConfig
	for _, fields := range step.Changes {
		changes = append(changes, kadm.AlterConfig{Name: *fields[0], Op: operations[*fields[1]], Value: fields[2]})
	}
	found, err := s.admin.AlterTopicConfigs(ctx, changes, step.Topic)
	if err != nil {
		return err
	}
	if found[0].Err != nil {
		return fmt.Errorf("%w: %s", found[0].Err, found[0].ErrMessage)
	}
	return nil
}

func (s *steps) deleteRecords(ctx context.Context, step *Step) (any, error) {
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: step.Topic, Partition: *step.Partition, At: step.Before})
	found, err := s.admin.DeleteRecords(ctx, offsets)
	one, _ := found.Lookup(step.Topic, *step.Partition)
	return one.LowWatermark, errors.Join(err, one.Err)
}
