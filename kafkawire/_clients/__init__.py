"""Base classes of the public clients, shared by the blocking and the asyncio ones."""
