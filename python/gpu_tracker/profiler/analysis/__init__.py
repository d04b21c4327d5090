"""Modules that are called as in SMDebug."""
