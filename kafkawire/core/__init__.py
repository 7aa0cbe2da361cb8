"""Client behaviour without IO: state classes that take `now` and say what to do, and flows over `kafkawire.net.base`."""
