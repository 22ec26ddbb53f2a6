# Serves the model of the first argument at the port of the second, until its input ends.
import os
import sys

try:
    import xllamacpp
except ImportError:
    sys.exit(3)

settings = xllamacpp.CommonParams()
settings.model.path = sys.argv[1]
settings.hostnames = ["127.0.0.1"]
settings.port = int(sys.argv[2])
settings.n_ctx = 16384
settings.n_parallel = 1
# Several would wait for each other without sleeping, which takes ages where others work as well.
settings.cpuparams.n_threads = 1
settings.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(settings)
sys.stdin.read()
os._exit(0)
