"""The workloads: `run` of each loads its tables, times its statements and writes a section of the report."""
