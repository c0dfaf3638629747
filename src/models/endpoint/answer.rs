//! What an endpoint answers, of which nothing is believed.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::super::ModelErrorKind;
use super::super::token_vectors::unit;

/// Why an answer with a good status is none: what is to be done about it, and what was wrong with it. Another time it may be better, as half of
/// it is missing or somebody else has answered; or it is so for these texts; or another model answers than the one that was asked before.
pub(in crate::models) type BadAnswer = (ModelErrorKind, String);

/// As OpenAI has it. Other fields are no business of ours.
#[derive(Deserialize)]
struct EndpointAnswer {
    data: Vec<AnsweredText>,
}

#[derive(Deserialize)]
struct AnsweredText {
    /// Absent where a server keeps the order.
    index: Option<usize>,
    embedding: Vec<Option<f32>>,
}

/// Reads an answer, which should have `what`.
pub(in crate::models) fn read_answer<T: DeserializeOwned>(body: &[u8], what: &str) -> Result<T, BadAnswer> {
    serde_json::from_slice(body).map_err(|error| match error {
        error if error.is_eof() => (ModelErrorKind::Transient, "returned an incomplete answer".into()),
        // A number that JSON does not have, as some give for a text they fail on; or another shape.
        // What the error says of it may quote the answer, and that the text: only the place is told.
        error if body.trim_ascii_start().starts_with(b"{") => {
            let (line, column) = (error.line(), error.column());
            let problem =
                format!("returned no {what}: its answer differs from OpenAI's at line {line}, column {column}");
            (ModelErrorKind::Permanent, problem)
        }
        _ => (ModelErrorKind::Transient, "did not return JSON".into()),
    })
}

/// Takes `count` vectors out of an answer, in the order of the texts, each of length 1, and all of `dimension` numbers where that is known.
pub(super) fn vectors(body: &[u8], count: usize, dimension: Option<usize>) -> Result<Vec<Vec<f32>>, BadAnswer> {
    let answer: EndpointAnswer = read_answer(body, "embeddings")?;
    let lasting = |problem: String| Err((ModelErrorKind::Permanent, problem));
    if answer.data.len() != count {
        return lasting(format!("returned {} vectors for {count} texts", answer.data.len()));
    }
    let lengths = || answer.data.iter().map(|answered| answered.embedding.len());
    if let Some((dimension, other)) = dimension.zip(lengths().next())
        && other != dimension
        && lengths().all(|length| length == other)
        && count > 0
    {
        let problem =
            format!("returns vectors of {other} numbers instead of {dimension}: the model behind it was replaced");
        return Err((ModelErrorKind::Refused, problem));
    }
    let mut vectors = vec![Vec::new(); count];
    for (at, answered) in answer.data.into_iter().enumerate() {
        let index = answered.index.unwrap_or(at);
        let vector: Option<Vec<f32>> = answered.embedding.into_iter().collect();
        let Some(vector) = vector.as_deref().and_then(unit) else {
            return lasting("returned an invalid vector: all zeros, or not all numbers".into());
        };
        if let Some(dimension) = dimension.filter(|dimension| *dimension != vector.len()) {
            let problem = format!("returned a vector of {} numbers; the model has {dimension}", vector.len());
            return lasting(problem);
        }
        match vectors.get_mut(index) {
            Some(place) if place.is_empty() => *place = vector,
            _ => return lasting(format!("returned an unrequested or second vector for text {index}")),
        }
    }
    if vectors.windows(2).any(|pair| pair[0].len() != pair[1].len()) {
        return lasting("returned vectors of different lengths".into());
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::chance::proptest_config;
    use crate::models::tests::bent::bent;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(proptest_config(2000))]
        #[test]
        fn whatever_a_server_says_vectors_are_vectors_or_none(
            body in bent(&[
                r#"{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[0.5,-1e-3]}]}"#,
                r#"{"data":[{"embedding":[1e38,1]}],"model":"m"}"#,
            ]),
            count in 0..3usize,
            dimension in proptest::option::of(1..3usize),
        ) {
            if let Ok(found) = vectors(body.as_bytes(), count, dimension) {
                prop_assert_eq!(found.len(), count);
                for vector in &found {
                    prop_assert!(dimension.is_none_or(|dimension| vector.len() == dimension), "{}", body);
                    let length = vector.iter().map(|number| number * number).sum::<f32>();
                    prop_assert!((length - 1.0).abs() < 1e-3, "{}: {:?}", body, vector);
                }
            }
        }
    }

    fn of(body: &str) -> Result<Vec<Vec<f32>>, BadAnswer> {
        vectors(body.as_bytes(), 2, Some(2))
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts_and_of_length_1() {
        let body = r#"{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4]}],"model":"x"}"#;
        assert_eq!(of(body), Ok(vec![vec![0.6, 0.8], vec![0.0, 1.0]]));
        let body = r#"{"data":[{"embedding":[1,0]},{"embedding":[0,1]}]}"#;
        assert_eq!(of(body), Ok(vec![vec![1.0, 0.0], vec![0.0, 1.0]]));
    }

    #[test]
    fn what_is_no_answer_for_these_texts_is_told_from_what_may_pass() {
        for body in [
            r#"{"data":[{"embedding":[1,0]}]}"#,
            r#"{"data":[{"embedding":[1,0]},{"embedding":[1,0,0]}]}"#,
            r#"{"data":[{"embedding":[1,0]},{"embedding":[0,0]}]}"#,
            r#"{"data":[{"embedding":[1,0]},{"embedding":[NaN,0]}]}"#,
            r#"{"data":[{"embedding":[1,0]},{"embedding":[null,0]}]}"#,
            r#"{"data":[{"embedding":[1,0]},{"embedding":[1e39,0]}]}"#,
            r#"{"data":[{"embedding":[1,0]},{"embedding":[]}]}"#,
            r#"{"data":[{"index":1,"embedding":[1,0]},{"index":1,"embedding":[1,0]}]}"#,
            r#"{"data":[{"index":7,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}"#,
            r#"{"error":"no"}"#,
        ] {
            assert!(matches!(of(body), Err((ModelErrorKind::Permanent, _))), "{body}: {:?}", of(body));
        }
        assert_eq!(of(r#"{"data":"quokka"}"#), of(r#"{"data":"wombat"}"#), "nothing of the answer is quoted");
        let others = r#"{"data":[{"embedding":[1,0,0]},{"embedding":[1,0,0]}]}"#;
        assert!(matches!(of(others), Err((ModelErrorKind::Refused, _))));
        for body in ["", "<html>", "Bad gateway", r#"{"data":[{"embedding":[1,0]},{"embed"#] {
            assert!(matches!(of(body), Err((ModelErrorKind::Transient, _))), "{body}: {:?}", of(body));
        }
    }
}
