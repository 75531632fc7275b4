"""Times FAISS and usearch on the codes that the scan's benchmark measures itself with, one thread.

scan_peers.py CODES QUERIES ROWS BITS QUERY_COUNT; reads lines "PEER QUERY", writes seconds a query. It must not know
what our own scan does.
"""

import sys
import time

import faiss
import numpy
from usearch.index import MetricKind, search

codes_file, queries_file, rows, bits, count = sys.argv[1:]
width = int(bits) // 8
codes = numpy.fromfile(codes_file, numpy.uint8, int(rows) * width).reshape(-1, width)
queries = numpy.fromfile(queries_file, numpy.uint8, int(count) * width).reshape(-1, width)
faiss.omp_set_num_threads(1)
index = faiss.IndexBinaryFlat(int(bits))
index.add(codes)

PEERS = {
    "faiss-10": lambda query: index.search(queries[query : query + 1], 10),
    "faiss-100": lambda query: index.search(queries[query : query + 1], 100),
    "faiss-batch": lambda query: index.search(queries, 10),
    "usearch-10": lambda query: search(codes, queries[query], 10, MetricKind.Hamming, exact=True, threads=1),
}

print("ready", flush=True)
for line in sys.stdin:
    peer, query = line.split()
    started = time.perf_counter()
    PEERS[peer](int(query))
    took = time.perf_counter() - started
    print(took / (len(queries) if peer == "faiss-batch" else 1), flush=True)
