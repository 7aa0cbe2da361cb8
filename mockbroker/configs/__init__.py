"""Configurations of topics, brokers and groups: definitions of each Kafka version, values, changes."""
