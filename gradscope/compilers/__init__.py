"""What torch's compilers make of a user's graph: AOT joint graphs and compiled autograd."""
