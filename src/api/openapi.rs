//! The OpenAPI document, generated from the routes.

use utoipa::openapi::schema::{Object, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{OpenApi as Document, RefOr, Schema, SecurityRequirement};
use utoipa::{Modify, OpenApi};

use super::{
    agents, attachments, capture, conflicts, context, entries, events, facts, forgotten, graph, import, links, memory,
    page, passing, processing, profile, qmd, routes, summaries, traces, writes,
};

mod limits;

use limits::Exact;

#[derive(OpenApi)]
#[openapi(
    info(title = "vault", description = "A person's long-lived memory: plain Markdown, searchable the moment it is saved."),
    paths(
        routes::health,
        routes::status,
        routes::reindex,
        routes::verify,
        routes::reload_model,
        routes::drop_kept_vectors,
        routes::search,
        routes::agent_search,
        routes::browse,
        routes::stats,
        routes::collections,
        routes::chunk,
        routes::note,
        links::links,
        links::unresolved_links,
        links::related,
        links::tags,
        links::all_tags,
        links::notes_in,
        entries::list_entries,
        entries::add_entry,
        entries::edit_entry,
        entries::remove_entry,
        entries::rewrite_entries,
        entries::list_proposals,
        entries::decide_proposals,
        facts::list_facts,
        facts::set_fact,
        facts::unset_fact,
        facts::retract_fact,
        summaries::list_summaries,
        summaries::make_summaries,
        summaries::show_digest,
        summaries::write_digest,
        processing::processing,
        processing::retry_processing,
        processing::sync_memory,
        processing::clear_memory,
        context::context,
        passing::complete,
        passing::models,
        profile::show,
        profile::set_user,
        profile::regenerate,
        graph::notes_around,
        events::events,
        page::token,
        page::leave,
        writes::save,
        writes::delete_chunk,
        writes::forget,
        writes::annotate,
        writes::checkpoints,
        forgotten::forgotten,
        forgotten::lift,
        forgotten::changes,
        attachments::attachments,
        conflicts::conflicts,
        conflicts::difference,
        conflicts::keep,
        writes::restore,
        agents::list,
        agents::add,
        agents::show,
        agents::change,
        agents::remove,
        agents::rotate,
        agents::explain,
        agents::log,
        capture::events,
        capture::ingest,
        import::import,
        memory::flush,
        traces::keep_trace,
        traces::list_traces,
        agents::listed,
        capture::settings,
        capture::set_settings,
        memory::search,
        memory::get,
        memory::save,
        memory::delete,
        memory::forget,
        memory::restore,
        qmd::search,
        qmd::search_for,
        qmd::vsearch,
        qmd::vsearch_for,
        qmd::hybrid,
        qmd::hybrid_for,
        qmd::browse,
        qmd::collections,
        qmd::embed,
        qmd::ingest,
        qmd::delete_chunk
    ),
    components(schemas(crate::config::MemoryLayer, crate::wire::ProgressView)),
    modifiers(&Tokens, &Tagged, &Exact)
)]
struct Api;

/// Every route but `/health` and those of the page takes a token.
struct Tokens;

impl Modify for Tokens {
    fn modify(&self, document: &mut Document) {
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        components.add_security_scheme("basic", SecurityScheme::Http(Http::new(HttpAuthScheme::Basic)));
        let either = ["bearer", "basic"].map(|scheme| SecurityRequirement::new(scheme, Vec::<String>::new()));
        document.security = Some(either.to_vec());
    }
}

/// An event has its type beside the fields of that type.
struct Tagged;

impl Modify for Tagged {
    fn modify(&self, document: &mut Document) {
        let schemas = &mut document.components.get_or_insert_default().schemas;
        for name in ["Message", "FileAction", "Search", "AgentActivity", "Note", "Bookmark", "Clipboard"] {
            if let Some(RefOr::T(Schema::Object(event))) = schemas.get_mut(name) {
                event.properties.insert("type".into(), Object::with_type(Type::String).into());
            }
        }
    }
}

/// The document as served at `/openapi.json`.
pub fn document() -> Document {
    Api::openapi()
}
