//! The OpenAPI document, generated from the routes.

use utoipa::openapi::schema::{Object, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{OpenApi as Document, RefOr, Schema, SecurityRequirement};
use utoipa::{Modify, OpenApi};

use super::{capture, context, endpoints, events, page, passing, qmd};

mod limits;

use limits::Exact;

#[derive(OpenApi)]
#[openapi(
    info(title = "vault", description = "A person's long-lived memory: plain Markdown, searchable the moment it is saved."),
    paths(
        super::router::health,
        context::context,
        passing::complete,
        passing::models,
        events::events,
        page::token,
        page::leave,
        capture::events,
        qmd::collections,
        qmd::embed
    ),
    components(schemas(crate::config::MemoryLayer, crate::wire::ProgressView)),
    modifiers(&Declared, &Tokens, &Tagged, &Exact)
)]
struct Api;

/// What is declared in one place.
struct Declared;

impl Modify for Declared {
    fn modify(&self, document: &mut Document) {
        endpoints::all().describe(document);
    }
}

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
