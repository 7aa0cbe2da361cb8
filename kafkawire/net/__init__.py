"""All IO of the library: the contract in `base`, and the drivers that fulfil it, `blocking` and `aio`."""
