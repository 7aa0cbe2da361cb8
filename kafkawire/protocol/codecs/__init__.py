"""The formats behind `kafkawire.protocol.compression`: one module per codec, each with `compress` and `decompress`.

`compress(data, level, magic)` takes None for the codec's default level. `decompress(data, limit, magic)` never holds much more
than `limit` bytes of output, and may raise anything on bad input: `compression.decompress` makes it one error. `magic` is the
number of the message format; only lz4 differs by it.
"""
