// CANN splits its functions over several libraries. Here one library has them all; the others only depend on
// it, so that a program finds every library that it links against.
