"""What becomes of gradients between ranks: averaged, summed, divided, clipped, or not finite on one of them."""
