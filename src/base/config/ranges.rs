//! The range of every number in `memory.toml`.

use super::sections::Config;

/// Finds the first value that is out of its range, as a sentence that names the key.
pub(super) fn first_violation(config: &Config) -> Option<String> {
    let Config {
        server: _,
        index,
        embed,
        search,
        chat,
        access: _,
        scope: _,
        agents,
        backup,
        collections,
        capture: _,
        retention,
        traces,
        facts: _,
        memory,
        upstream,
        sessions,
    } = config;
    let whole = [
        ("index.max_file_bytes", index.max_file_bytes, 1024, 1 << 30),
        ("index.debounce_ms", index.debounce_ms, 5, 5000),
        ("index.reconcile_seconds", index.reconcile_seconds, 5, 86_400),
        ("index.poll_seconds", index.poll_seconds, 1, 3600),
        ("index.graph_threshold", index.graph_threshold as u64, 0, 10_000_000),
        ("embed.threads", embed.threads as u64, 0, 256),
        ("embed.max_tokens", embed.max_tokens as u64, 0, 8192),
        ("embed.batch_size", embed.batch_size as u64, 1, 2048),
        ("embed.timeout_ms", embed.timeout_ms, 100, 600_000),
        ("embed.query_timeout_ms", embed.query_timeout_ms, 50, 60_000),
        ("embed.batch_api_from", embed.batch_api_from as u64, 100, 1_000_000),
        ("search.limit", search.limit as u64, 1, 1000),
        ("search.per_file", search.per_file as u64, 0, 1000),
        ("search.deep_ms", search.deep_ms, 10, 60_000),
        ("search.timeout_ms", search.timeout_ms, 0, 60_000),
        ("search.max_snippet_chars", search.max_snippet_chars as u64, 50, 10_000),
        ("chat.search_timeout_ms", chat.search_timeout_ms, 100, 4_000),
    ];
    let fractions = [
        ("search.semantic_weight", search.semantic_weight),
        ("search.min_score", search.min_score),
        ("search.mmr_lambda", search.mmr_lambda),
        ("search.usage_weight", search.usage_weight),
        ("memory.duplicate_meaning", memory.duplicate_meaning),
    ];
    whole
        .into_iter()
        .chain(memory.ranges())
        .chain(traces.ranges())
        .chain(upstream.ranges())
        .find(|(_, value, low, high)| !(low..=high).contains(&value))
        .map(|(key, value, low, high)| format!("`{key}` is {value}; it takes {low} to {high}"))
        .or_else(|| {
            fractions
                .iter()
                .find(|(_, value)| !(0.0..=1.0).contains(value))
                .map(|(key, value)| format!("`{key}` is {value}; it takes 0.0 to 1.0"))
        })
        .or_else(|| embed.violation())
        .or_else(|| chat.violation())
        .or_else(|| memory.violation())
        .or_else(|| upstream.violation())
        .or_else(|| retention.violation())
        .or_else(|| {
            let known = |value: f64| (0.0..=36_500.0).contains(&value);
            let reason = format!("`search.half_life_days` is {}; it takes 0.0 to 36500.0", search.half_life_days);
            (!known(search.half_life_days)).then_some(reason)
        })
        .or_else(|| {
            let wrong = search.weights.iter().find(|(_, weight)| !(0.0..=10.0).contains(*weight));
            wrong.map(|(name, weight)| {
                format!("the weight of `{name}` in `search.weights` is {weight}; it takes 0.0 to 10.0")
            })
        })
        .or_else(|| agents.violation())
        .or_else(|| backup.violation())
        .or_else(|| super::collections::violation(collections))
        .or_else(|| super::sessions::violation(sessions))
}
