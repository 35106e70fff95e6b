"""What the packet, live and fuzz tests share: namespaces, processes, the router, frames, results."""
