"""Modules with SMDebug's names."""
