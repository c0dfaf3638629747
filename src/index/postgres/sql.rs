//! All SQL. `vault` comes first in every key: a posting list, a statistic and a graph of neighbours is one vault's own, and a tenant's rows are
//! together however the tables are spread.

use super::connection::{Connection, PostgresError};

/// The version of the tables. Whoever finds a later one leaves them alone.
pub(super) const FORMAT: i32 = 1;

/// Makes the tables where there are none. Whoever may not make the extension finds it made.
const SCHEMA: &str = "
create extension if not exists vector;
create table if not exists vault(
  vault int primary key, name text not null unique, writer text not null, store text not null default '',
  seq bigint not null default 0, generation bigint not null default 0, swept bigint not null default 0, seen_at timestamptz not null default '-infinity', format int not null, words_format int not null, search text not null, epoch text not null default '',
  model text, withheld bool not null default false, problems bytea not null default '');
create table if not exists file(
  vault int, file int, seq bigint not null, info bigint not null, passages bigint not null, meaning bigint not null,
  entry bytea not null, chunks bytea not null, embedded bytea not null, metadata text, primary key(vault, file));
create index if not exists file_seq on file(vault, seq);
create table if not exists passage(
  vault int, \"row\" bigint, file int not null, digest bytea not null, id bigint not null, heading_path text not null, text bytea not null,
  spans int[] not null, primary key(vault, \"row\"));
create index if not exists passage_file on passage(vault, file);
create index if not exists passage_id on passage(vault, id);
create table if not exists words(
  vault int, \"row\" bigint, file int not null, keys bigint[] not null, tfs bytea not null, weights sparsevec,
  primary key(vault, \"row\")) with (toast_tuple_target = 8160);
alter table words alter keys set storage main, alter weights set storage main;
create index if not exists words_keys on words using gin(keys) with (fastupdate = off);
create index if not exists words_file on words(vault, file);
create table if not exists meaning(
  vault int, \"row\" bigint, file int not null, content bytea not null, embedding halfvec not null, tokens bytea not null,
  primary key(vault, \"row\"));
create index if not exists meaning_file on meaning(vault, file);
create index if not exists meaning_content on meaning(vault, content);
create table if not exists term(
  vault int, key bigint, field smallint not null, word text collate \"C\" not null, n int not null, primary key(vault, key))
  with (fillfactor = 80);
create index if not exists term_word on term(vault, field, word);
create table if not exists gone(vault int, file int, seq bigint not null, at timestamptz not null default now(), primary key(vault, file));
create index if not exists gone_seq on gone(vault, seq);
create table if not exists principal(
  vault int, token bytea, kind text not null, name text not null, rights bytea not null, folders text not null, primary key(vault, token));
create index if not exists principal_token on principal(token);
do $$ declare t text; begin foreach t in array array['file', 'passage', 'words', 'meaning', 'term', 'gone'] loop
  execute format('alter table %I enable row level security', t);
  execute format('drop policy if exists of_vault on %I', t);
  execute format('create policy of_vault on %I using (vault = any(string_to_array(current_setting(''vault.may'', true), '','')::int[]))', t);
end loop; end $$;
create or replace function remove_copy(of text) returns void language plpgsql as $$ declare t text; v int := (select vault from vault where name = of);
begin foreach t in array array['file', 'passage', 'words', 'meaning', 'term', 'gone', 'principal', 'vault'] loop
  execute format('delete from %I where vault = $1', t) using v;
end loop; end $$;
create table if not exists format(version int primary key);
insert into format select $FORMAT where not exists (select from format)
";

/// Makes the tables where there are none, one process after the other.
pub(super) fn prepare(connection: &Connection) -> Result<(), PostgresError> {
    if version(connection)?.is_none() {
        let schema = SCHEMA.replace("$FORMAT", &FORMAT.to_string());
        connection.batch(&format!("begin; select pg_advisory_xact_lock(7833); {schema}; commit"))?;
    }
    check(connection)
}

/// Whether the tables are there, and of this version.
pub(super) fn check(connection: &Connection) -> Result<(), PostgresError> {
    let why = match version(connection)? {
        Some(FORMAT) => return Ok(()),
        Some(found) => {
            format!("its tables are of version {found}, and this program knows version {FORMAT}: update the older one")
        }
        None => "no vault was pushed there yet".to_owned(),
    };
    Err(PostgresError::Refused(why))
}

fn version(connection: &Connection) -> Result<Option<i32>, PostgresError> {
    let is_there = connection.first("select to_regclass('format') is not null", &[])?.is_some_and(|row| row.get(0));
    match is_there {
        true => Ok(connection.first("select max(version) from format", &[])?.and_then(|row| row.get(0))),
        false => Ok(None),
    }
}

pub(super) const BEGIN: &str = "begin";
pub(super) const COMMIT: &str = "commit";
pub(super) const ROLLBACK: &str = "rollback";
/// One state of everything, until the end.
pub(super) const BEGIN_READ: &str = "begin isolation level repeatable read read only";

/// name
pub(super) const VAULT: &str = "select vault, writer, store, seq, generation, swept, words_format, search, epoch, model, withheld, problems, \
    case when isfinite(seen_at) then extract(epoch from now() - seen_at)::float8 else 'infinity' end age from vault where name = $1";
/// name, writer, format
pub(super) const NEW_VAULT: &str = "insert into vault(vault, name, writer, format, words_format, search) \
    select coalesce(max(vault), 0) + 1, $1, $2, $3, 0, '' from vault on conflict do nothing";
/// vault
pub(super) const LOCK_VAULT: &str = "select writer, seq from vault where vault = $1 for update";
/// vault, seq, store, words_format, search, withheld, problems, generation, whether this is all and of now, epoch
pub(super) const NEXT_STATE: &str = "update vault set seq = $2, store = $3, words_format = $4, search = $5, withheld = $6, epoch = $10, \
    problems = $7, generation = $8, seen_at = case when $9 then now() else seen_at end where vault = $1";
/// vault, writer, seq
pub(super) const SEEN: &str = "update vault set seen_at = now() where vault = $1 and writer = $2 and seq = $3";
/// vault, model
pub(super) const NEW_MODEL: &str = "update vault set model = $2 where vault = $1";
/// vault
pub(super) const FORGET_MEANING: &str = "delete from meaning where vault = $1";
/// vault, seq
pub(super) const NOTHING_EMBEDDED: &str =
    "update file set info = 0, meaning = 0, embedded = '', seq = $2 where vault = $1 and meaning <> 0";
/// vault
pub(super) const WIPE: [&str; 6] = [
    "delete from words where vault = $1", "delete from passage where vault = $1",
    "delete from meaning where vault = $1", "delete from term where vault = $1", "delete from file where vault = $1",
    "delete from gone where vault = $1",
];
/// vault
pub(super) const NO_PRINCIPALS: &str = "delete from principal where vault = $1";
/// vault, token, kind, name, rights, folders
pub(super) const PRINCIPAL: &str = "insert into principal values ($1, $2, $3, $4, $5, $6) on conflict do nothing";
/// token
pub(super) const HOLDERS: &str = "select v.name vault, p.kind, p.name, p.rights, p.folders, \
    extract(epoch from now() - greatest(v.seen_at, 'epoch'))::float8 age from principal p join vault v using (vault) where token = $1 order by v.name";
/// vaults: those whose rows the rest of the transaction sees, where a role does not own the tables
pub(super) const MAY: &str = "select set_config('vault.may', $1, true)";
/// vault, seq: whoever knew an earlier state reads everything anew
pub(super) const SWEPT: &str = "update vault set swept = $2 where vault = $1";
/// vault
pub(super) const MANIFEST: &str = "select file, info, passages, meaning from file where vault = $1";

/// vault, files, seq
pub(super) const REMOVE_FILES: &str = "with f as (delete from file where vault = $1 and file = any($2)) \
    insert into gone(vault, file, seq) select $1, file, $3 from unnest($2) file \
    on conflict (vault, file) do update set seq = excluded.seq, at = now()";
/// vault, files
pub(super) const RENEW_FILES: &str = "delete from file where vault = $1 and file = any($2)";
/// vault, files
pub(super) const NOT_GONE: &str = "delete from gone where vault = $1 and file = any($2)";
/// vault
pub(super) const SWEEP: &str = "with old as (delete from gone where vault = $1 and at < now() - interval '1 day' returning seq) \
    update vault set swept = greatest(swept, (select max(seq) from old)) where vault = $1 and exists (select from old)";

/// vault, files
pub(super) const PASSAGES_OF: &str = "select \"row\", digest from passage where vault = $1 and file = any($2)";
/// vault, rows
pub(super) const UNCOUNT: &str = "update term set n = term.n - d.n from \
    (select key, count(*)::int n from words, unnest(keys) key where vault = $1 and \"row\" = any($2) group by key) d \
    where term.vault = $1 and term.key = d.key returning term.key, term.n";
/// vault, rows
pub(super) const REMOVE_PASSAGES: &str = "with p as (delete from passage where vault = $1 and \"row\" = any($2)) \
    delete from words where vault = $1 and \"row\" = any($2)";
/// vault, keys, fields, words, numbers
pub(super) const COUNT: &str = "insert into term select $1, key, field, word, n \
    from unnest($2::bigint[], $3::smallint[], $4::text[], $5::int[]) t(key, field, word, n) \
    on conflict (vault, key) do update set n = term.n + excluded.n";
/// vault, keys
pub(super) const DROP_TERMS: &str = "delete from term where vault = $1 and key = any($2) and n = 0";
/// vault, files
pub(super) const MEANING_OF: &str = "select \"row\", content from meaning where vault = $1 and file = any($2)";
/// vault, rows
pub(super) const REMOVE_MEANING: &str = "delete from meaning where vault = $1 and \"row\" = any($2)";

pub(super) const COPY_FILES: &str = "copy file(vault, file, seq, info, passages, meaning, entry, chunks, embedded, metadata) from stdin (format binary)";
pub(super) const COPY_PASSAGES: &str =
    "copy passage(vault, \"row\", file, digest, id, heading_path, text, spans) from stdin (format binary)";
pub(super) const COPY_WORDS: &str = "copy words(vault, \"row\", file, keys, tfs, weights) from stdin (format binary)";
pub(super) const COPY_MEANING: &str =
    "copy meaning(vault, \"row\", file, content, embedding, tokens) from stdin (format binary)";

/// vault, seq
pub(super) const FILES_SINCE: &str = "select file, entry, chunks, embedded from file where vault = $1 and seq > $2";
/// vault, seq
pub(super) const GONE_SINCE: &str = "select file from gone where vault = $1 and seq > $2";

/// Narrows to the files of a mask ($2), whose bits are counted as files are: `get_bit` fails beyond its end, and `and` has no order.
macro_rules! in_mask {
    () => {
        "($2::bytea is null or case when file < length($2) * 8 then get_bit($2, file) = 1 else false end)"
    };
}

/// vault, mask, keys: in how many passages each is
pub(super) const FREQUENCIES: &str = concat!(
    "select key, (select count(*) from words where vault = $1 and keys @> array[key] and ",
    in_mask!(),
    ") from unnest($3::bigint[]) key"
);
/// vault, keys: the same of all
pub(super) const FREQUENCIES_OF_ALL: &str = "select key, n::bigint from term where vault = $1 and key = any($2)";
/// vault, mask, keys, keys that all have, weights, limit
pub(super) const BEST_WORDS: &str = concat!(
    "select \"row\", file, keys, tfs, -(weights <#> $5::text::sparsevec) most from words \
     where vault = $1 and keys && $3 and ($4::bigint[] = '{}' or keys @> $4) and ",
    in_mask!(),
    " order by most desc nulls first limit $6"
);
/// vault, rows
pub(super) const WORDS_OF: &str = "select \"row\", file, keys, tfs from words where vault = $1 and \"row\" = any($2)";
/// vault, rows
pub(super) const TEXTS_OF: &str =
    "select \"row\", file, id, heading_path, text, spans from passage where vault = $1 and \"row\" = any($2)";
/// vault, fields, least, most word
pub(super) const TERMS_BETWEEN: &str = "select field, word, key, n::bigint from term where vault = $1 and field = any($2) and word >= $3 and word < $4 order by word";
/// vault, fields, least and most characters
pub(super) const TERMS_OF_LENGTH: &str = "select field, word, key, n::bigint from term \
    where vault = $1 and field = any($2) and char_length(word) between $3 and $4 order by word";
/// vault, mask, query, how many: the nearest, and all that may be as near within the precision of the server's sums
pub(super) const NEAREST: &str = concat!(
    "with d as materialized (select \"row\", (embedding <#> $3::real[]::halfvec) + 0 as d from meaning where vault = $1 and ",
    in_mask!(),
    ") select m.\"row\", m.file, halfvec_send(m.embedding) from d join meaning m on m.vault = $1 and m.\"row\" = d.\"row\" \
     where d.d <= coalesce((select d from d order by d offset $4::bigint - 1 limit 1), 'infinity') + 0.002"
);
/// vault, rows
pub(super) const VECTORS_OF: &str =
    "select \"row\", halfvec_send(embedding) from meaning where vault = $1 and \"row\" = any($2)";
/// vault, content
pub(super) const TOKENS_OF: &str = "select content, tokens from meaning where vault = $1 and content = any($2)";
/// vault, id
pub(super) const ROWS_OF: &str = "select \"row\" from passage where vault = $1 and id = $2 order by \"row\"";
/// vault, file
pub(super) const METADATA_FROM: &str =
    "select file, metadata from file where vault = $1 and file >= $2 order by file limit 256";
