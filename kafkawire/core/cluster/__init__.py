"""The cluster as a client sees it: metadata, links to brokers, and requests that find their broker."""
