"""Groups of a cluster and the protocols that change them."""
