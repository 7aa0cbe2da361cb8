"""The formats behind `kafkawire.protocol.compression`: one module per codec, each with `compress` and `decompress`.

`decompress(data, limit)` never holds much more than `limit` bytes of output, and may raise anything on bad input:
`compression.decompress` makes it one error.
"""
