//! Models that are known to work: what their files say of themselves and what not, and what their cosines say of an answer.

use crate::base::config::PoolingChoice;

/// A model that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) struct KnownModel {
    /// Its name, as its makers write it.
    pub name: &'static str,
    /// How its name begins in the files that there are of it, letters and digits alone.
    #[serde(skip)]
    stems: &'static [&'static str],
    #[serde(skip)]
    architecture: &'static str,
    /// The length of its vectors.
    pub dimension: usize,
    /// How its tokens become one vector.
    pub pooling: PoolingChoice,
    /// Goes before a query.
    pub query_prefix: &'static str,
    /// Goes before a document.
    pub document_prefix: &'static str,
    /// What it reads.
    pub languages: &'static str,
    /// Under which licence it is.
    pub licence: &'static str,
}

const ASKED_OF_PASSAGES: &str = "Represent this sentence for searching relevant passages: ";

/// What most of them have in common.
const USUAL_MODEL: KnownModel = KnownModel {
    name: "",
    stems: &[],
    architecture: "bert",
    dimension: 384,
    pooling: PoolingChoice::Mean,
    query_prefix: "",
    document_prefix: "",
    languages: "English",
    licence: "Apache-2.0",
};

/// As their makers' pages have it.
pub(crate) const KNOWN_MODELS: [KnownModel; 6] = [
    KnownModel { name: "all-MiniLM-L6-v2", stems: &["allminilml6v2"], ..USUAL_MODEL },
    KnownModel {
        name: "snowflake-arctic-embed-s",
        stems: &["snowflakearcticembeds", "arcticembeds"],
        pooling: PoolingChoice::Cls,
        query_prefix: ASKED_OF_PASSAGES,
        ..USUAL_MODEL
    },
    KnownModel {
        name: "bge-small-en-v1.5",
        stems: &["bgesmallenv15"],
        pooling: PoolingChoice::Cls,
        query_prefix: ASKED_OF_PASSAGES,
        licence: "MIT",
        ..USUAL_MODEL
    },
    KnownModel {
        name: "multilingual-e5-small",
        stems: &["multilinguale5small"],
        query_prefix: "query: ",
        document_prefix: "passage: ",
        languages: "about 100 languages",
        licence: "MIT",
        ..USUAL_MODEL
    },
    KnownModel {
        name: "nomic-embed-text-v1.5",
        stems: &["nomicembedtextv15"],
        architecture: "nomic-bert",
        dimension: 768,
        query_prefix: "search_query: ",
        document_prefix: "search_document: ",
        ..USUAL_MODEL
    },
    KnownModel {
        name: "embeddinggemma-300m",
        stems: &["embeddinggemma"],
        architecture: "gemma-embedding",
        dimension: 768,
        query_prefix: "task: search result | query: ",
        document_prefix: "title: none | text: ",
        languages: "over 100 languages",
        licence: "Gemma Terms of Use",
        ..USUAL_MODEL
    },
];

impl KnownModel {
    /// The known model that a file is of: by the name that it has within or on the disk, and by its shape.
    pub(crate) fn of(file: &ModelFile) -> Option<&'static Self> {
        KNOWN_MODELS.iter().find(|known| {
            let is_called = known.is_called(&file.name) || known.is_called(&file.stem);
            known.architecture == file.architecture && known.dimension == file.dimension && is_called
        })
    }

    fn is_called(&self, name: &str) -> bool {
        let name: String =
            name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
        self.stems.iter().any(|stem| begins_with(&name, stem))
    }
}

/// Whether a model, by the name that it has for people, is known to read English and nothing else.
pub(crate) fn reads_english_alone(model: &str) -> bool {
    KNOWN_MODELS.iter().find(|known| known.is_called(model)).is_some_and(|known| known.languages == "English")
}

/// What follows may be a quantisation or a size, and is no part of a longer word, as in `embedsmall`.
fn begins_with(name: &str, stem: &str) -> bool {
    let after = ["q", "f16", "f32", "bf16", "300m", "v15", "gguf", "ggml"];
    name.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || after.iter().any(|after| rest.starts_with(after)))
}

/// What the header of a GGUF file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ModelFile {
    /// The model's name within the file; empty where it has none.
    pub name: String,
    /// The file's own name, without its ending.
    pub stem: String,
    /// `bert`, `nomic-bert` and others.
    pub architecture: String,
    /// The length of its vectors; 0 where it does not say.
    pub dimension: usize,
    /// Tokens that it reads; 0 where it does not say.
    pub context: usize,
    /// How its tokens become one vector, where it says.
    pub pooling: Option<PoolingChoice>,
    /// Its licence, where it says.
    pub licence: Option<String>,
    /// Its size.
    pub bytes: u64,
}

/// How likely a chunk answers, as `1 / (1 + exp(−(base + words · √coverage + meaning · cosine)))`: a logistic regression over labelled
/// queries. By the root, what has none of the words is told from what has some: "zebra quantum finance", of which a vault has no word, is
/// nothing, and no 0.14 as it was.
///
/// Fitted on two documentations and five conversations (813 questions and 463 headings with an answer; 565 questions without one, to those, to the
/// conversations and to a personal vault), each set weighing the same, and made 0.4 stricter. Below 0.1 are 3.8 % of the right answers and 75 %
/// of the best hits without one (before, on the same: 3.0 and 68 %); below 0.2 are 6.1 and 86 %, below 0.5 are 13.6 and 94 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Calibration {
    base: f64,
    /// Of the root of the share of the score by words that the chunk has of what it could have at most, 0 to 1.
    words: f64,
    /// Of the cosine.
    meaning: f64,
}

impl Calibration {
    /// Of the words alone, where no model was asked: as likely as before the root, from a tenth of the words to half of them.
    pub(crate) const WORDS: Self = Self { base: -6.5, words: 15.1, meaning: 0.0 };
    const MINILM: Self = Self { base: -8.9, words: 10.3, meaning: 15.8 };
    const MINILM_ALONE: Self = Self { base: -7.50, words: 0.0, meaning: 18.09 };

    /// Of a model's cosines beside the words or, with `alone`, without them; `None` of a model that was not measured.
    pub(crate) fn of(model: &str, alone: bool) -> Option<Self> {
        match model {
            "all-MiniLM-L6-v2" if alone => Some(Self::MINILM_ALONE),
            "all-MiniLM-L6-v2" => Some(Self::MINILM),
            _ => None,
        }
    }

    /// How likely a chunk answers, 0 to 1.
    pub(crate) fn relevance(&self, coverage: f64, cosine: f64) -> f64 {
        1.0 / (1.0 + (-(self.base + self.words * coverage.sqrt() + self.meaning * cosine)).exp())
    }
}

/// How likely two short texts with such a cosine say the same, 0 to 1, by the name of the model: `1 / (1 + exp(−(base + slope · cosine)))`, a
/// logistic regression over 30 pairs of entries that say the same in other words and 19 that do not, though they begin and end alike. From
/// 0.85 on, which is a cosine of 0.92, are 18 of the former and none of the latter.
///
/// Of a model that was not measured the cosine itself is taken.
pub(crate) fn sameness(model: &str, cosine: f64) -> f64 {
    match model {
        "all-MiniLM-L6-v2" => 1.0 / (1.0 + (25.6 - 29.7 * cosine).exp()),
        _ => cosine.clamp(0.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_none_of_the_words_is_likely_by_its_meaning_alone() {
        let both = Calibration::of("all-MiniLM-L6-v2", false).unwrap();
        // The best hits for nonsense, and for words that no note has, are as near as 0.33.
        assert!(both.relevance(0.0, 0.34) < 0.05 && Calibration::WORDS.relevance(0.0, 0.0) < 0.01);
        // The nearest without one of the words, and what a question's answers have of both.
        assert!(both.relevance(0.0, 0.6) > 0.5 && both.relevance(0.13, 0.46) > 0.5);
    }

    fn file(name: &str, architecture: &str, dimension: usize) -> ModelFile {
        ModelFile { name: name.into(), architecture: architecture.into(), dimension, ..ModelFile::default() }
    }

    #[test]
    fn a_model_is_known_by_name_and_shape() {
        for (name, architecture, dimension, known) in [
            ("all-MiniLM-L6-v2", "bert", 384, Some("all-MiniLM-L6-v2")),
            ("all-MiniLM-L6-v2.Q8_0", "bert", 384, Some("all-MiniLM-L6-v2")),
            ("Snowflake Arctic Embed S", "bert", 384, Some("snowflake-arctic-embed-s")),
            ("snowflake-arctic-embed-s-f16", "bert", 384, Some("snowflake-arctic-embed-s")),
            ("snowflake-arctic-embed-small", "bert", 384, None),
            ("bge-small-en-v1.5", "bert", 384, Some("bge-small-en-v1.5")),
            ("bge-small-zh-v1.5", "bert", 384, None),
            ("multilingual-e5-small", "bert", 384, Some("multilingual-e5-small")),
            ("nomic-embed-text-v1.5", "nomic-bert", 768, Some("nomic-embed-text-v1.5")),
            ("nomic-embed-text-v1", "nomic-bert", 768, None),
            ("nomic-embed-text-v1.5", "bert", 768, None),
            ("Embeddinggemma 300M", "gemma-embedding", 768, Some("embeddinggemma-300m")),
            ("all-MiniLM-L12-v2", "bert", 384, None),
        ] {
            let found = KnownModel::of(&file(name, architecture, dimension)).map(|known| known.name);
            assert_eq!(found, known, "{name}");
        }
        let renamed = ModelFile { stem: "bge-small-en-v1.5-q8_0".into(), ..file("model", "bert", 384) };
        assert_eq!(KnownModel::of(&renamed).map(|known| known.pooling), Some(PoolingChoice::Cls));
    }

    #[test]
    fn it_is_known_which_models_read_english_alone() {
        for model in ["all-MiniLM-L6-v2", "bge-small-en-v1.5-q8_0", "nomic-embed-text-v1.5.Q8_0"] {
            assert!(reads_english_alone(model), "{model}");
        }
        for model in
            ["multilingual-e5-small", "embeddinggemma-300m", "text-embedding-3-small", "hashed words (for tests)"]
        {
            assert!(!reads_english_alone(model), "{model}");
        }
    }
}
