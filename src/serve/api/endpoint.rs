//! An endpoint, declared once: its handler, its route, its description and the call of the command line follow from it.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Path, Query, Request, State};
use axum::routing::{MethodFilter, on};
use axum::{Json, RequestExt, Router};
use hyper::Method;
use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::openapi::path::{HttpMethod, Operation, OperationBuilder, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{Object, Type};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Required, ResponseBuilder, Schema};
use utoipa::{IntoParams, ToSchema};

use super::ask::{ApiError, AppState, ErrorBody, JsonBody, MAX_TRACE_BYTES, answer, query};
use super::auth::Asking;
use crate::access::request::{RequestError, Role};
use crate::serve::app::App;
use crate::serve::wire::percent_encode;

/// Where a request is sent, what it takes, and what it answers.
pub(crate) struct Endpoint<In, Out> {
    pub(super) method: EndpointMethod,
    /// Its address. At most one part of it, in braces, is a name that the request says.
    pub(super) path: &'static str,
    /// Whether the answer may take as long as the disk does.
    pub(super) slow: bool,
    /// Whether it takes bodies of up to [`MAX_TRACE_BYTES`].
    pub(super) large: bool,
    /// Whether it waits for what was saved just before, if it is asked over the Unix socket.
    pub(super) fresh: bool,
    pub(super) types: PhantomData<fn(In) -> Out>,
}

/// The methods that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::upper_case_acronyms, reason = "they are written so")]
pub(super) enum EndpointMethod {
    GET,
    POST,
    PUT,
    PATCH,
    DELETE,
}

impl EndpointMethod {
    /// What it is to who sends it, to the router, and in the description.
    const fn parts(self) -> (Method, MethodFilter, HttpMethod) {
        match self {
            Self::GET => (Method::GET, MethodFilter::GET, HttpMethod::Get),
            Self::POST => (Method::POST, MethodFilter::POST, HttpMethod::Post),
            Self::PUT => (Method::PUT, MethodFilter::PUT, HttpMethod::Put),
            Self::PATCH => (Method::PATCH, MethodFilter::PATCH, HttpMethod::Patch),
            Self::DELETE => (Method::DELETE, MethodFilter::DELETE, HttpMethod::Delete),
        }
    }
}

/// A request as the command line sends it.
#[derive(Debug)]
pub(crate) struct EndpointCall {
    pub(crate) method: Method,
    pub(crate) uri: String,
    pub(crate) body: Bytes,
    /// Whether the answer may take as long as the disk does.
    pub(crate) is_slow: bool,
}

impl EndpointCall {
    /// A `GET` of an address.
    pub(crate) fn get(uri: &str) -> Self {
        Self { method: Method::GET, uri: uri.to_owned(), body: Bytes::new(), is_slow: false }
    }
}

/// What an endpoint's function is given: the app, who asks, the name in the address, and what the request says.
pub(super) struct Asked<'a, R, P> {
    pub(super) app: &'a App,
    pub(super) role: &'a R,
    pub(super) name: &'a str,
    pub(super) params: P,
    /// Whether it came over the Unix socket.
    pub(super) is_local: bool,
}

impl<R, P> Asked<'_, R, P> {
    /// The name in the address, where it is a number.
    pub(super) fn number(&self) -> Result<i64, RequestError> {
        self.name.parse().map_err(|_| RequestError::invalid(format!("`{}` is not a number", self.name)))
    }
}

/// Whether a search waits for what was saved just before, when it says so or nothing: a person or a script on this machine, who may have
/// saved it, asks over the Unix socket.
pub(super) fn wants_fresh(said: Option<bool>, is_local: bool) -> Option<bool> {
    said.or(is_local.then_some(true))
}

/// What answers.
pub(super) type Run<In, Out, R> = fn(Asked<'_, R, <In as Input>::Params>) -> Result<Out, RequestError>;

impl<In, Out> Endpoint<In, Out> {
    pub(super) const fn new(method: EndpointMethod, path: &'static str) -> Self {
        Self { method, path, slow: false, large: false, fresh: false, types: PhantomData }
    }

    /// The same, whose answer is read as the person gets it: as one type, where agents get another.
    pub(crate) const fn answering<T>(&self) -> Endpoint<In, T> {
        let Self { method, path, slow, large, fresh, .. } = *self;
        Endpoint { method, path, slow, large, fresh, types: PhantomData }
    }

    /// The request that asks it. `name` stands for the part of the address in braces.
    ///
    /// # Errors
    /// When there are no such parameters in JSON or in an address.
    pub(crate) fn call(&self, name: &str, params: &In::Params) -> anyhow::Result<EndpointCall>
    where
        In: Input,
    {
        let mut uri = match self.path.split_once('{') {
            Some((before, after)) => {
                let after = after.split_once('}').map_or("", |(_, after)| after);
                format!("{before}{}{after}", percent_encode(name))
            }
            None => self.path.to_owned(),
        };
        let body = In::send(params, &mut uri)?;
        Ok(EndpointCall { method: self.method.parts().0, uri, body, is_slow: self.slow })
    }
}

/// Where a request says what it asks for: in its address, in its body, or nowhere.
pub(crate) trait Input: Send + 'static {
    type Params: Send + 'static;

    fn take(request: Request) -> impl Future<Output = Result<Self::Params, ApiError>> + Send;

    /// Adds it to the description.
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder;

    /// As the command line sends it: adds it to the address, or gives the body.
    fn send(params: &Self::Params, uri: &mut String) -> anyhow::Result<Bytes>;
}

/// The schemas that a description refers to, by name.
type Schemas = Vec<(String, RefOr<Schema>)>;

impl Input for () {
    type Params = ();

    async fn take(_: Request) -> Result<(), ApiError> {
        Ok(())
    }

    fn describe(operation: OperationBuilder, _: &mut Schemas) -> OperationBuilder {
        operation
    }

    fn send((): &(), _: &mut String) -> anyhow::Result<Bytes> {
        // Those that take a body take none, too.
        Ok(Bytes::from_static(b"null"))
    }
}

impl<T: Serialize + DeserializeOwned + IntoParams + Send + 'static> Input for Query<T> {
    type Params = T;

    async fn take(request: Request) -> Result<T, ApiError> {
        query(Self::from_request_parts(&mut request.into_parts().0, &()).await)
    }

    fn describe(operation: OperationBuilder, _: &mut Schemas) -> OperationBuilder {
        let parameters = T::into_params(|| Some(ParameterIn::Query));
        parameters.into_iter().fold(operation, OperationBuilder::parameter)
    }

    fn send(params: &T, uri: &mut String) -> anyhow::Result<Bytes> {
        *uri = format!("{uri}?{}", serde_urlencoded::to_string(params)?);
        Ok(Bytes::new())
    }
}

impl<T: Serialize + DeserializeOwned + ToSchema + Send + 'static> Input for JsonBody<T> {
    type Params = T;

    async fn take(request: Request) -> Result<T, ApiError> {
        Self::from_request(request, &()).await.map(|Self(params)| params)
    }

    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        let body = RequestBodyBuilder::new().content("application/json", Content::new(Some(schema_of::<T>(schemas))));
        operation.request_body(Some(body.required(Some(Required::True)).build()))
    }

    fn send(params: &T, _: &mut String) -> anyhow::Result<Bytes> {
        Ok(serde_json::to_vec(params)?.into())
    }
}

/// The name of a type's schema, which comes to the others.
fn schema_of<T: ToSchema>(schemas: &mut Schemas) -> RefOr<Schema> {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
    RefOr::Ref(Ref::from_schema_name(T::name()))
}

/// The routes of endpoints, and their description where one is made.
pub(super) struct Endpoints {
    pub(super) router: Router<AppState>,
    pub(super) document: Option<OpenApi>,
}

/// What an endpoint is called in the description, and what is said of it there.
pub(super) struct EndpointText {
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    pub(super) lines: &'static [&'static str],
}

impl Endpoints {
    /// Adds one.
    pub(super) fn add<In: Input, Out, R>(
        mut self,
        endpoint: &Endpoint<In, Out>,
        text: EndpointText,
        run: Run<In, Out, R>,
    ) -> Self
    where
        Out: Serialize + ToSchema + Send + 'static,
        R: Role + 'static,
    {
        let (has_name, sees_saves) = (endpoint.path.contains('{'), endpoint.fresh);
        let handler = move |State(app): State<AppState>, asking: Asking, mut request: Request| async move {
            R::admits(&asking.principal)?;
            let name = match has_name {
                true => {
                    let named = request.extract_parts::<Path<String>>().await;
                    named.map_err(|rejection| RequestError::invalid(rejection.body_text()))?.0
                }
                false => String::new(),
            };
            let params = In::take(request).await?;
            let asking = if sees_saves { asking.seeing_saves() } else { asking };
            let (vault, is_local) = (Arc::clone(&app), asking.is_local);
            let with = move |role: &R| run(Asked { app: &vault, role, name: &name, params, is_local });
            answer(app, asking, with).await.map(Json)
        };
        let (_, filter, method) = endpoint.method.parts();
        let route = match endpoint.large {
            true => on(filter, handler).layer(DefaultBodyLimit::max(MAX_TRACE_BYTES)),
            false => on(filter, handler),
        };
        self.router = self.router.route(endpoint.path, route);
        let path = endpoint.path;
        if let Some(document) = &mut self.document {
            describe::<In, Out>(document, path, method, &text);
        }
        self
    }
}

fn describe<In: Input, Out: ToSchema>(
    document: &mut OpenApi,
    path: &'static str,
    method: HttpMethod,
    text: &EndpointText,
) {
    let mut schemas = Schemas::new();
    let answer = schema_of::<Out>(&mut schemas);
    let failed = schema_of::<ErrorBody>(&mut schemas);
    let json = |schema: &RefOr<Schema>| {
        ResponseBuilder::new().content("application/json", Content::new(Some(schema.clone()))).build()
    };
    let said: Vec<&str> = text.lines.iter().map(|line| line.trim()).collect();
    let mut operation = OperationBuilder::new()
        .tag(text.group)
        .operation_id(Some(format!("{}_{}", text.group, text.name.to_ascii_lowercase())))
        .summary(Some(said.join("\n")))
        .response("200", json(&answer))
        .response("4XX", json(&failed))
        .response("503", json(&failed));
    if let Some((name, _)) = path.split_once('{').and_then(|(_, name)| name.split_once('}')) {
        let text = Object::with_type(Type::String);
        let named = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Path).required(Required::True);
        operation = operation.parameter(named.schema(Some(text)));
    }
    let operation: Operation = In::describe(operation, &mut schemas).build();
    let item = PathItem::new(method, operation);
    match document.paths.paths.get_mut(path) {
        Some(there) => there.merge_operations(item),
        None => drop(document.paths.paths.insert(path.to_owned(), item)),
    }
    let known = &mut document.components.get_or_insert_default().schemas;
    for (name, schema) in schemas {
        known.entry(name).or_insert(schema);
    }
}

/// Declares endpoints, in groups: for each a constant, by which it is called, and the function that answers: by its name where it takes who
/// asks and the parameters.
macro_rules! endpoints {
    ($($(#[doc = $about:literal])+ $group:ident {
        $($(#[doc = $line:literal])+ $NAME:ident = $method:ident $path:literal, $In:ty => $Out:ty, $R:ty
        $([$($how:ident)+])?: $($answer:path)? $(|$a:ident| $run:expr)?;)+
    })+) => {
        $($(#[doc = $about])+
        pub(crate) mod $group {
            use super::*;

            $($(#[doc = $line])+
            pub(crate) const $NAME: Endpoint<$In, $Out> =
                Endpoint { $($($how: true,)+)? ..Endpoint::new(EndpointMethod::$method, $path) };)+

            pub(super) fn add_to(all: Endpoints) -> Endpoints {
                all$(.add::<$In, $Out, $R>(&$NAME, EndpointText { group: stringify!($group), name: stringify!($NAME), lines: &[$($line),+] },
                    $(|a| $answer(a.role, &a.params))? $(|$a| $run)?))+
            }
        })+

        /// All of them.
        pub(super) fn all(document: Option<utoipa::openapi::OpenApi>) -> Endpoints {
            let all = Endpoints { router: Default::default(), document };
            $(let all = $group::add_to(all);)+
            all
        }
    };
}
pub(super) use endpoints;
