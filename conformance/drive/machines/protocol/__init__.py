"""Machines for the families of the protocol: what contents hold, what may be said on a wire, and who may say it."""
