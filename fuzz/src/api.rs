use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use super::Vault;

/// Whatever is asked, the answer is JSON, a file of the page or a stream of events, and not that the server failed.
///
/// The input is as HTTP has it: method and address, headers, an empty line, the body.
pub fn api(vault: &Vault, data: &[u8]) {
    for router in &vault.routers {
        let Some(request) = request(data) else { return };
        let is_head = request.method() == Method::HEAD;
        let answer = TowerToHyperService::new(router.clone()).call(request);
        let (status, other, body) = vault.runtime.block_on(async {
            let response = answer.await.expect("a router does not fail");
            let status = response.status();
            let other = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind != "application/json");
            (status, other, response.into_body().collect().await.expect("the body is there").to_bytes())
        });
        let json = serde_json::from_slice::<serde_json::Value>(&body);
        assert!(status < StatusCode::INTERNAL_SERVER_ERROR, "{status}: {}", body.escape_ascii());
        assert!(
            json.is_ok() || status.is_success() && other || is_head && body.is_empty(),
            "{status} with {:?}",
            body.escape_ascii().to_string()
        );
        let said = json.unwrap_or_default();
        assert!(status.is_success() || is_head || said["error"]["message"].is_string(), "{status}: {said}");
    }
}

fn request(data: &[u8]) -> Option<Request<Body>> {
    let end = data.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = end.map_or((data, &[][..]), |end| (&data[..end], &data[end + 2..]));
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.next()?;
    let (method, address) = first.split_at(first.iter().position(|byte| *byte == b' ')?);
    let mut request = Request::new(Body::from(body.to_owned()));
    *request.method_mut() = Method::from_bytes(method).ok()?;
    *request.uri_mut() = Uri::try_from(&address[1..]).ok()?;
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) =
            (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(line[colon + 1..].trim_ascii()));
        if let (Ok(name), Ok(value)) = (name, value) {
            request.headers_mut().append(name, value);
        }
    }
    Some(request)
}
