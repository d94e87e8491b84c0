"use strict";
// The worker keeps the shell of the page, which is the same for everybody, and shows notices. It keeps nothing that was
// said: pages and answers come from the server or not at all, and the browser asks for them as without a worker.
const shell = "/page/VERSION/";
const away = () => new Response(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Lethe</title><link rel="stylesheet" href="${shell}style.css"><main class="book"><h1>Lethe is not reached</h1>
<p>Does its server run, and is this device in its network? <a href="">Try again</a></p></main>`, {status: 503, headers: {"Content-Type": "text/html"}});

oninstall = e => e.waitUntil(caches.open(shell).then(kept => kept.addAll(["style.css", "page.js", "favicon.svg"].map(name => shell + name))));

// The next version takes over when no page is open any more: a worker that is replaced in the middle can leave a page hanging.
onactivate = e => e.waitUntil((async () => {
	for (const name of await caches.keys()) if (name !== shell) await caches.delete(name);
	await registration.navigationPreload?.enable();
})());

onfetch = e => {
	if (e.request.url.startsWith(location.origin + shell)) e.respondWith(caches.match(e.request).then(kept => kept ?? fetch(e.request)));
	// What the browser asks for beside the worker says truly which site began it; what a worker asks for may not, so it sends no form.
	else if (e.request.mode === "navigate" && e.request.method === "GET" && registration.navigationPreload)
		e.respondWith(e.preloadResponse.then(page => page ?? fetch(e.request)).catch(away));
};

onpush = e => {
	const {title, body, url, tag} = e.data.json();
	e.waitUntil(registration.showNotification(title, {body, tag, data: url, icon: shell + "icon.png"}));
};

onnotificationclick = e => {
	e.notification.close();
	e.waitUntil(clients.openWindow(e.notification.data));
};
