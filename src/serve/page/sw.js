// The service worker: keeps the page's own files, so that it opens while the vault is away, and takes what is shared to it. It keeps no answer
// of the API.

const PAGE = "page";
const FILES = ["/", "/page/app.js", "/page/views/rooms.js", "/page/icon.svg", "/page/manifest.webmanifest"];

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open(PAGE).then((cache) => cache.addAll(FILES)));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(self.clients.claim());
});

self.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (origin !== location.origin) return;
  if (method === "POST" && pathname === "/page/share") event.respondWith(shared(event.request));
  if (method === "GET" && (pathname === "/" || pathname.startsWith("/page/"))) event.respondWith(newest(event, pathname));
});

/** A file of the page from the vault; as it was last where that is away. */
async function newest(event, name) {
  const there = await fetch(event.request).catch(() => undefined);
  if (there?.ok) {
    const copy = there.clone();
    event.waitUntil(caches.open(PAGE).then((cache) => cache.put(name, copy)));
  }
  // A proxy may answer for a vault that is away.
  if (there && there.status < 500) return there;
  return (await caches.match(name, { cacheName: PAGE })) ?? there ?? Response.error();
}

/** Keeps files that are shared until the page has sent them, and opens its box with the text. */
async function shared(request) {
  const form = await request.formData();
  const cache = await caches.open("shared");
  const files = form.getAll("files").filter((file) => file.name);
  await Promise.all(files.map((file, at) =>
    cache.put(`/page/shared/${Date.now()}-${at}?${new URLSearchParams({ name: file.name })}`, new Response(file))));
  const said = ["title", "text", "url"].map((key) => [key, form.get(key) ?? ""]).filter(([, value]) => value);
  return Response.redirect(`/#/capture?${new URLSearchParams(said)}`, 303);
}
