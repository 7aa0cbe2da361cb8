"""Base classes of the public clients, shared by the blocking and the asyncio ones.

Both kinds of client have the calls that never wait in common, how they are made, and how they end.
"""
