"""What is read of tensors: metadata, storages, statistics, and what nodes save of them."""
