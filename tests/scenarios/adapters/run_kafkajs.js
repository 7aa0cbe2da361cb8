// Steps by kafkajs. See steps.py for what a step is and how it is answered.
"use strict"

const readline = require("node:readline")

const FETCH_WAIT_MS = 50
const TIMEOUT = 60_000
const XERIAL = Buffer.from("82534e41505059000000000100000001", "hex")

// kafkajs's admin sets offsets by a consumer of its own, which would wait five seconds for records before it ends.
const consumers = require.resolve("kafkajs/src/consumer")
const makeConsumer = require(consumers)
require.cache[consumers].exports = (settings) => makeConsumer({ maxWaitTimeInMs: FETCH_WAIT_MS, ...settings })

const {
  AssignerProtocol, CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, PartitionAssigners, logLevel,
} = require("kafkajs")
const snappy = require("snappyjs")
const lz4 = require("lz4js")
const xxh32 = require("lz4js/xxh32.js")
const { ZstdCodec } = require("zstd-codec")

// kafkajs brings gzip and takes the other codecs from whoever has them.
function addCodecs(zstd) {
  const codec = (compress, decompress) => () => ({ compress, decompress })
  CompressionCodecs[CompressionTypes.Snappy] = codec(
    async (encoder) => snappy.compress(encoder.buffer),
    async (data) => fromSnappy(data),
  )
  CompressionCodecs[CompressionTypes.LZ4] = codec(
    async (encoder) => toLz4(encoder.buffer),
    async (data) => Buffer.from(lz4.decompress(data)),
  )
  CompressionCodecs[CompressionTypes.ZSTD] = codec(
    async (encoder) => Buffer.from(zstd.compress(encoder.buffer)),
    async (data) => Buffer.from(zstd.decompress(data)),
  )
}

// A frame with independent blocks, as Kafka wants it: these are, but lz4js does not say so.
function toLz4(data) {
  const frame = Buffer.from(lz4.compress(data))
  frame[4] |= 0x20
  frame[6] = xxh32.hash(0, frame, 4, 2) >> 8
  return frame
}

// Java writes Snappy in blocks behind a header, kafkajs in one block without.
function fromSnappy(data) {
  if (!data.subarray(0, 8).equals(XERIAL.subarray(0, 8))) return Buffer.from(snappy.uncompress(data))
  const blocks = []
  for (let at = XERIAL.length; at < data.length; ) {
    const size = data.readInt32BE(at)
    blocks.push(Buffer.from(snappy.uncompress(data.subarray(at + 4, at + 4 + size))))
    at += 4 + size
  }
  return Buffer.concat(blocks)
}

const text = (data) => (data === null || data === undefined ? null : data.toString())

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function until(done, state) {
  const deadline = Date.now() + TIMEOUT
  while (!done()) {
    if (Date.now() > deadline) throw new Error(`waited in vain: ${JSON.stringify(state())}`)
    await pause(20)
  }
}

const compare = (a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

const byNumbers = (a, b) => a[0] - b[0] || a[1] - b[1]

function recordOf(partition, message) {
  const headers = []
  for (const [name, values] of Object.entries(message.headers || {}))
    for (const value of [values].flat()) headers.push([name, text(value)])
  return [partition, Number(message.offset), text(message.key), text(message.value), Number(message.timestamp), headers]
}

class Steps {
  constructor(bootstrap) {
    this.settings = { brokers: bootstrap.split(","), logLevel: logLevel.NOTHING, retry: { initialRetryTime: 100, retries: 12 } }
    this.kafka = new Kafka(this.settings)
    this.members = new Map()
    this.throwaway = 0
  }

  async admin(ask) {
    const admin = this.kafka.admin({ retry: { initialRetryTime: 100, retries: 2 } })
    await admin.connect()
    try {
      return await ask(admin)
    } finally {
      await admin.disconnect()
    }
  }

  // Producing and consuming

  async produce({ topic, records, partition, codec = "none", acks = "all", idempotent = false }) {
    const producer = this.kafka.producer({ idempotent, allowAutoTopicCreation: true })
    const compression = CompressionTypes[{ none: "None", gzip: "GZIP", snappy: "Snappy", lz4: "LZ4", zstd: "ZSTD" }[codec]]
    const messages = records.map(([key, value, timestamp, headers]) => ({
      key, value, partition, timestamp: String(timestamp), headers: grouped(headers),
    }))
    await producer.connect()
    try {
      const done = await producer.send({ topic, messages, compression, acks: acks === "all" ? -1 : acks })
      return numbered(done, messages.length)
    } finally {
      await producer.disconnect()
    }
  }

  // kafkajs reads in groups only: a group of its own whose offset is set first.
  async consume({ topic, partition, offset, count, reset }) {
    const groupId = `throwaway ${topic} ${this.throwaway++}`
    const found = []
    const consumer = this.kafka.consumer({ groupId, maxWaitTimeInMs: FETCH_WAIT_MS })
    await consumer.connect()
    try {
      await consumer.subscribe({ topic, fromBeginning: true })
      await consumer.run({
        autoCommit: false,
        eachMessage: async ({ partition: from, message }) => void (from === partition && found.push(recordOf(from, message))),
      })
      if (offset !== "earliest") consumer.seek({ topic, partition, offset: String(offset) })
      await until(() => found.length >= count, () => found.length)
    } finally {
      await consumer.disconnect()
    }
    return (reset ? found : found.filter((each) => offset === "earliest" || each[1] >= offset)).slice(0, count)
  }

  async watermarks({ topic, partition }) {
    const found = await this.admin((admin) => admin.fetchTopicOffsets(topic))
    const one = found.find((each) => each.partition === partition)
    return [Number(one.low), Number(one.high)]
  }

  async commit({ group, topic, offsets }) {
    const partitions = offsets.map(([partition, offset, metadata]) => ({ partition, offset: String(offset), metadata }))
    await this.admin((admin) => admin.setOffsets({ groupId: group, topic, partitions }))
    return null
  }

  async committed({ group, topic, partitions }) {
    const [found] = await this.admin((admin) => admin.fetchOffsets({ groupId: group, topics: [topic] }))
    return partitions.map((partition) => {
      const one = found.partitions.find((each) => each.partition === partition)
      const none = !one || one.offset === "-1"
      return none ? [partition, null, null] : [partition, Number(one.offset), one.metadata]
    })
  }

  // Groups

  async join({ member, group, topics }) {
    const kafka = new Kafka({ ...this.settings, clientId: member })
    const consumer = kafka.consumer({
      groupId: group, heartbeatInterval: 300, maxWaitTimeInMs: FETCH_WAIT_MS, partitionAssigners: [PartitionAssigners.roundRobin],
    })
    const state = { consumer, assigned: [], records: [], positions: new Map() }
    this.members.set(member, state)
    consumer.on(consumer.events.REBALANCING, () => (state.assigned = []))
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => (state.assigned = flat(payload.memberAssignment)))
    await consumer.connect()
    await consumer.subscribe({ topics, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ topic, partition, message }) => {
        state.records.push(recordOf(partition, message))
        state.positions.set(`${topic} ${partition}`, { topic, partition, offset: String(Number(message.offset) + 1) })
      },
    })
    return null
  }

  async settle({ members, partitions }) {
    const found = () => members.map((name) => this.members.get(name).assigned)
    await until(() => found().every((each) => each.length) && found().flat().length === partitions, found)
    return Object.fromEntries(members.map((name) => [name, this.members.get(name).assigned]))
  }

  async received({ members, count }) {
    const found = () => members.flatMap((name) => this.members.get(name).records)
    await until(() => found().length >= count, () => found().length)
    return found().sort(byNumbers)
  }

  async commit_position({ member }) {
    const { consumer, positions } = this.members.get(member)
    await consumer.commitOffsets([...positions.values()])
    return null
  }

  async leave({ member }) {
    await this.members.get(member).consumer.disconnect()
    this.members.delete(member)
    return null
  }

  async list_groups({ prefix }) {
    const { groups } = await this.admin((admin) => admin.listGroups())
    return groups.filter((each) => each.groupId.startsWith(prefix)).sort(compare)
  }

  async describe_group({ group }) {
    const { groups: [found] } = await this.admin((admin) => admin.describeGroups([group]))
    found.members = found.members
      .map(({ clientId, clientHost, memberAssignment, memberMetadata }) => ({
        clientId,
        clientHost,
        assigned: memberAssignment.length ? flat(AssignerProtocol.MemberAssignment.decode(memberAssignment).assignment) : [],
        topics: memberMetadata.length ? AssignerProtocol.MemberMetadata.decode(memberMetadata).topics : [],
      }))
      .sort(compare)
    return found
  }

  async delete_group({ group }) {
    await this.admin((admin) => admin.deleteGroups([group]))
    return null
  }

  // Administration

  async create_topic({ topic, partitions = 1, replication = 1, configs = {} }) {
    const configEntries = Object.entries(configs || {}).map(([name, value]) => ({ name, value }))
    const topics = [{ topic, numPartitions: partitions, replicationFactor: replication, configEntries }]
    const made = await this.admin((admin) => admin.createTopics({ topics }))
    if (!made) throw Object.assign(new Error("kafkajs says no more than that it exists"), { code: 36 })
    return null
  }

  async delete_topic({ topic }) {
    await this.admin((admin) => admin.deleteTopics({ topics: [topic] }))
    return null
  }

  async create_partitions({ topic, count }) {
    await this.admin((admin) => admin.createPartitions({ topicPartitions: [{ topic, count }] }))
    return null
  }

  async list_topics({ prefix }) {
    const found = await this.admin((admin) => admin.listTopics())
    return found.filter((name) => name.startsWith(prefix) || name.startsWith("__consumer")).sort()
  }

  async describe_topic({ topic }) {
    const { topics: [found] } = await this.admin((admin) => admin.fetchTopicMetadata({ topics: [topic] }))
    found.partitions.sort((a, b) => a.partitionId - b.partitionId)
    return found
  }

  async describe_cluster() {
    const found = await this.admin((admin) => admin.describeCluster())
    return { ...found, clusterId: Boolean(found.clusterId) }
  }

  async describe_configs({ kind, name, names }) {
    const resources = [{ type: ConfigResourceTypes[kind.toUpperCase()], name, configNames: names }]
    const { resources: [found] } = await this.admin((admin) => admin.describeConfigs({ resources, includeSynonyms: true }))
    return found.configEntries.sort(compare)
  }

  async replace_configs({ topic, configs }) {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }]
    await this.admin((admin) => admin.alterConfigs({ resources }))
    return null
  }

  async delete_records({ topic, partition, before }) {
    await this.admin(async (admin) => {
      await admin.fetchTopicOffsets(topic) // what follows wants to know the topic
      await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] })
    })
    return (await this.watermarks({ topic, partition }))[0]
  }
}

function grouped(headers) {
  const made = {}
  for (const [name, value] of headers) (made[name] ||= []).push(value)
  return made
}

// One answer a partition, with the offset of the first record; without acknowledgement none.
function numbered(done, count) {
  if (!done.length || done.length > 1 || done[0].baseOffset === undefined)
    return done.map(({ partition, baseOffset }) => [partition, Number(baseOffset)]).sort(byNumbers)
  return Array.from({ length: count }, (_, number) => [done[0].partition, Number(done[0].baseOffset) + number])
}

const flat = (assignment) =>
  Object.entries(assignment).flatMap(([topic, partitions]) => partitions.map((each) => [topic, each])).sort(compare)

function refusal(error) {
  for (let one = error; one; one = one.cause || [one.errors, one.partitions, one.groups].find(Array.isArray)?.[0]) {
    if (Number.isInteger(one.code) && one.code >= 0) return { error: one.code, message: one.message }
    if (one.errorCode) return { error: one.errorCode, message: error.message }
    if (one.error) one.cause = one.error
  }
  throw error
}

async function serve(steps) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: name, ...fields } = JSON.parse(line)
    let answer
    try {
      answer = { answer: await steps[name](fields) }
    } catch (error) {
      answer = refusal(error)
    }
    process.stdout.write(JSON.stringify(answer) + "\n")
  }
}

ZstdCodec.run((zstd) => {
  addCodecs(new zstd.Simple())
  serve(new Steps(process.argv[2])).then(
    () => process.exit(0),
    (error) => {
      console.error(error)
      process.exit(1)
    },
  )
})
