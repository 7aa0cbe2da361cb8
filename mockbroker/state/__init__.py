"""State of a cluster: brokers, topics, logs, producers and timers. No IO, no clock."""
