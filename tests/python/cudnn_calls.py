"""Calls cuDNN like a program, without a GPU: asks the loaded library for engines of O = (Q K^T) V on an absent GPU.

The tests of attnprobe.watch observe these calls. The numbers are those of cudnn_graph.h (9.8 to 9.28).
"""

import ctypes
import json
import os
import pathlib
import subprocess

TENSOR, MATMUL, OPERATION_MATMUL, GRAPH, HEURISTICS, ENGINE_CONFIG, DEVICE = 17, 18, 19, 15, 4, 3, 38
DATA_TYPE, BOOLEAN, INT64, HEURISTIC_MODE, DESCRIPTOR, CHAR, REORDERING = 1, 2, 3, 8, 15, 24, 20
FLOAT, HALF, F16X16 = 0, 2, 2
SUCCESS = 0


class Cudnn:
    def __init__(self, library, program):
        """`program` knows the GPUs; its null driver stands in for libcuda.so.1."""
        driver = os.environ.get("ATTNPROBE_NULL_DRIVER") or pathlib.Path(program).resolve().parent / "libattnprobe_null_driver.so"
        ctypes.CDLL(str(driver), mode=ctypes.RTLD_GLOBAL)
        self.program = program
        self.calls = ctypes.CDLL(str(pathlib.Path(library).resolve().parent / "libcudnn_graph.so.9"), mode=ctypes.RTLD_GLOBAL)

    def create(self, kind):
        descriptor = ctypes.c_void_p()
        assert self.calls.cudnnBackendCreateDescriptor(kind, ctypes.byref(descriptor)) == SUCCESS
        return descriptor

    def set(self, descriptor, attribute, kind, values):
        element = {INT64: ctypes.c_int64, DATA_TYPE: ctypes.c_int, HEURISTIC_MODE: ctypes.c_int, BOOLEAN: ctypes.c_bool,
                   DESCRIPTOR: ctypes.c_void_p, CHAR: ctypes.c_char, REORDERING: ctypes.c_int}[kind]
        array = (element * len(values))(*values)
        status = self.calls.cudnnBackendSetAttribute(descriptor, attribute, kind, ctypes.c_int64(len(values)), array)
        assert status == SUCCESS, (attribute, status)

    def finalize(self, descriptor):
        return self.calls.cudnnBackendFinalize(descriptor)

    def tensor(self, number, dims, strides, virtual=False):
        tensor = self.create(TENSOR)
        self.set(tensor, 901, DATA_TYPE, [HALF])
        self.set(tensor, 902, INT64, dims)
        self.set(tensor, 903, INT64, strides)
        self.set(tensor, 906, INT64, [number])
        self.set(tensor, 900, INT64, [16])
        self.set(tensor, 907, BOOLEAN, [virtual])
        if virtual:
            self.set(tensor, 909, REORDERING, [F16X16])
        assert self.finalize(tensor) == SUCCESS
        return tensor

    def matmul(self, a, b, c):
        how = self.create(MATMUL)
        self.set(how, 1500, DATA_TYPE, [FLOAT])
        assert self.finalize(how) == SUCCESS
        operation = self.create(OPERATION_MATMUL)
        for attribute, descriptor in ((1520, a), (1521, b), (1522, c), (1523, how)):
            self.set(operation, attribute, DESCRIPTOR, [descriptor])
        assert self.finalize(operation) == SUCCESS
        return operation

    def two_matmuls(self, length, head_dim):
        """The finalized graph."""
        rows = [length * head_dim, length * head_dim, head_dim, 1]
        q = self.tensor(1, [1, 1, length, head_dim], rows)
        k = self.tensor(2, [1, 1, head_dim, length], [rows[0], rows[1], 1, head_dim])
        s = self.tensor(3, [1, 1, length, length], [length * length, length * length, length, 1], virtual=True)
        v = self.tensor(4, [1, 1, length, head_dim], rows)
        o = self.tensor(5, [1, 1, length, head_dim], rows)
        graph = self.create(GRAPH)
        self.set(graph, 801, DESCRIPTOR, [self.matmul(q, k, s), self.matmul(s, v, o)])
        assert self.finalize(graph) == SUCCESS
        return graph

    def ask(self, target, length=64, head_dim=64, mode=2):
        """How many engine configs the fallback mode has for the graph; None if it refuses."""
        shown = subprocess.run([self.program, "targets", "show", target], capture_output=True, text=True, check=True)
        properties = json.dumps(json.loads(shown.stdout)["properties"]).encode()
        device = self.create(DEVICE)
        self.set(device, 2702, CHAR, [bytes([letter]) for letter in properties])
        assert self.finalize(device) == SUCCESS
        heuristics = self.create(HEURISTICS)
        self.set(heuristics, 201, DESCRIPTOR, [self.two_matmuls(length, head_dim)])
        self.set(heuristics, 200, HEURISTIC_MODE, [mode])
        self.set(heuristics, 204, DESCRIPTOR, [device])
        if self.finalize(heuristics) != SUCCESS:
            return None
        count = ctypes.c_int64()
        assert self.calls.cudnnBackendGetAttribute(heuristics, 202, DESCRIPTOR, ctypes.c_int64(0), ctypes.byref(count), None) == SUCCESS
        configs = [self.create(ENGINE_CONFIG) for _ in range(count.value)]
        array = (ctypes.c_void_p * len(configs))(*configs)
        found = ctypes.c_int64()
        assert self.calls.cudnnBackendGetAttribute(
            heuristics, 202, DESCRIPTOR, ctypes.c_int64(len(configs)), ctypes.byref(found), array) == SUCCESS
        return found.value
