//! The files of models: those that are none, damaged ones, and what is unpacked and converted.

use std::path::PathBuf;
use std::{fs, thread};

use super::super::super::{Embedder, ModelError};
use super::super::{GgufEmbedder, ModelSource, bundled};
use super::{SOURCE, cache_dir, cosine, options, shared};
use crate::base::config::{EmbedConfig, PoolingChoice};

#[test]
fn files_that_are_no_whole_model_are_refused_with_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let model = bundled::unpack(&cache_dir()).unwrap();
    let model = fs::read(model).unwrap();
    let path = folder.path().join("model.gguf");
    let refused = |what: &str| {
        let error = GgufEmbedder::open(&ModelSource::File(path.clone()), &options(), &cache_dir()).err();
        let message = error.unwrap_or_else(|| panic!("{what} was taken")).to_string();
        assert!(message.contains("model.gguf"), "{what}: {message}");
        message
    };
    assert!(refused("nothing").contains("could not read"));
    // Every kind of place to end in: magic, counts, keys, vocabulary, tensor list, the first tensor, the last byte.
    let cuts =
        [0, 1, 3, 4, 8, 15, 23, 24, 40, 100, 1000, 20_000, 400_000, 700_000, 1_000_000, 12_000_000, model.len() - 1];
    for bytes in cuts {
        fs::write(&path, &model[..bytes]).unwrap();
        println!("{}", refused(&format!("a file cut after {bytes} bytes")));
    }
    for (what, start) in
        [("text", b"# A note".as_slice()), ("garbage after the magic", b"GGUF"), ("version 1", b"GGUF\x01\0\0\0")]
    {
        let garbage = (0..100_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8);
        fs::write(&path, start.iter().copied().chain(garbage).collect::<Vec<_>>()).unwrap();
        println!("{}", refused(what));
    }
    // llama.cpp ends the process for this one.
    let mut twice = model.clone();
    let at = twice.windows(5).position(|window| window == b"[UNK]").unwrap();
    twice[at..at + 5].copy_from_slice(b"[CLS]");
    fs::write(&path, &twice).unwrap();
    assert!(refused("a word twice").contains("twice"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(refused("a folder").contains("not a file"));
}

#[test]
fn models_that_do_not_embed_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let model = bundled::unpack(&cache_dir()).unwrap();
    let model = fs::read(model).unwrap();
    let key = b"bert.pooling_type";
    let at = model.windows(key.len()).position(|window| window == key).unwrap() + key.len() + 4;
    for (pooling, reason) in [(0, "names no pooling"), (4, "reranker")] {
        let mut model = model.clone();
        model[at] = pooling;
        let path = folder.path().join("model.gguf");
        fs::write(&path, &model).unwrap();
        let error = GgufEmbedder::open(&ModelSource::File(path.clone()), &options(), &cache_dir()).err().unwrap();
        assert!(matches!(&error, ModelError::UnsuitableModel { .. }) && error.to_string().contains(reason), "{error}");
    }
    // With a pooling named by the person, the first of them works after all, and as the bundled model does.
    let path = folder.path().join("model.gguf");
    let mut model = model.clone();
    model[at] = 0;
    fs::write(&path, &model).unwrap();
    let options = EmbedConfig { pooling: PoolingChoice::Mean, ..options() };
    let embedder = GgufEmbedder::open(&ModelSource::File(path), &options, &cache_dir()).unwrap();
    let same = cosine(&embedder.embed_query("river", None).unwrap(), &shared().embed_query("river", None).unwrap());
    // Where the processor has bfloat16, the bundled model is computed in that, and the file as it is.
    assert!(same > 0.998, "{same}");
}

#[test]
fn damaged_weights_are_noticed_when_the_model_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let model = bundled::unpack(&cache_dir()).unwrap();
    let mut model = fs::read(model).unwrap();
    let middle = model.len() / 2;
    model[middle..].fill(0xff);
    let path = folder.path().join("model.gguf");
    fs::write(&path, &model).unwrap();
    let error = GgufEmbedder::open(&ModelSource::File(path), &options(), &cache_dir()).err().unwrap();
    assert!(error.to_string().contains("model.gguf"), "{error}");
}

#[test]
fn the_bundled_model_is_unpacked_once_and_again_when_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("not/yet/there");
    let paths: Vec<PathBuf> = thread::scope(|scope| {
        let unpack = || bundled::unpack(&dir).unwrap();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(unpack)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let path = &paths[0];
    assert!(paths.iter().all(|other| other == path));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "nothing is left beside it");
    let model = fs::read(path).unwrap();
    let written = fs::metadata(path).unwrap().modified().unwrap();
    bundled::unpack(&dir).unwrap();
    assert_eq!(fs::metadata(path).unwrap().modified().unwrap(), written, "it is not written again");

    let mut damaged = model.clone();
    damaged[20_000_000] ^= 1;
    for damage in [damaged.as_slice(), &model[..1000], b""] {
        fs::write(path, damage).unwrap();
        bundled::unpack(&dir).unwrap();
        assert!(fs::read(path).unwrap() == model);
    }
}

#[test]
fn the_model_is_converted_once_and_again_when_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let convert = || bundled::converted(folder.path(), &SOURCE, || bundled::unpack(folder.path())).unwrap();
    let (path, converted) = convert();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside them");
    let (model, written) = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    assert_eq!(convert(), (path.clone(), converted));
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written, "it is not written again");
    for damage in [&model[..1000], b""] {
        fs::write(&path, damage).unwrap();
        assert_eq!(convert().0, path);
        assert!(fs::read(&path).unwrap() == model);
    }
}

#[test]
fn a_cache_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("taken");
    fs::write(&file, "a file where the folder should be").unwrap();
    let error = GgufEmbedder::open(&ModelSource::Bundled, &EmbedConfig::default(), &file.join("cache")).err().unwrap();
    assert!(matches!(&error, ModelError::Fs(_)) && error.to_string().contains("taken"), "{error}");
}
