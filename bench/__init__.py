"""Throughput and latency of kafkawire as ratios to its peers, each measured in the same run. README.md says how."""
