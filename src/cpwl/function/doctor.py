from cpwl.function.report import Report
def examine(p): return Report(())
