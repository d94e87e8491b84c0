"use strict";
// What is live on a page. A main with data-live follows the events of its identity from there; what they
// change is fetched as HTML that the server makes: an element with data-part either grows by what came
// behind its data-after, or is made anew. So nothing is lost or doubled, whatever is cut off when.

const one = selector => document.querySelector(selector);
const parse = text => new DOMParser().parseFromString(text, "text/html");
const main = one("main");
const agent = location.pathname.split("/")[2];
const parts = Object.fromEntries([...document.querySelectorAll("[data-part]")].map(e => [e.dataset.part, e]));
const live = one("#live");
const room = parts.lines?.dataset.room;
document.documentElement.classList.add("script", ...navigator.clipboard ? ["copies"] : []);
const kept = (() => { try { return localStorage; } catch { return {}; } })(); // what this browser keeps, if it does
const make = (tag, className, text = "") => Object.assign(document.createElement(tag), {className, textContent: text});

// The end is that of what grows, and of the form below it.
const end = () => (one("#say")?.closest(".text") ?? main).getBoundingClientRect().bottom - innerHeight;

// grow changes what stands at the end; only who was there is taken along.
function grow(change) {
	const there = Math.abs(end()) < 48;
	change();
	if (there) scrollBy(0, end());
}

const due = new Set();
let fetching = null;
function refresh(...names) {
	names.filter(n => parts[n]).forEach(n => due.add(n));
	return fetching ??= (async () => {
		for (const name of due) {
			due.delete(name);
			if (await load(parts[name])) due.add(name);
		}
	})().catch(() => {}).finally(() => fetching = null); // when the server is back, all is refreshed
}

// fragment is the element that the server makes of an address.
async function fragment(address) {
	const answer = await fetch(address);
	if (!answer.ok) throw new Error(answer.statusText);
	return parse(await answer.text()).body.firstElementChild;
}

// tidy leaves the first of the same day's headings, since each fragment begins with one.
function tidy(part) {
	let last;
	for (const day of part.querySelectorAll(".day:not(.new)"))
		if (day.textContent === last) (day.closest("li") ?? day).remove();
		else last = day.textContent;
}

// What is older or newer than what is shown comes when one scrolls near to the link that leads there.
const near = new IntersectionObserver(all => all.forEach(e => e.isIntersecting && more(e.target)), {rootMargin: "300px"});
async function more(link) {
	near.unobserve(link);
	const part = link.closest("[data-part]"), box = link.closest(".more"), root = document.documentElement;
	const fresh = await fragment(link.href + "&part=" + part.dataset.part).catch(() => {}); // the link is left
	if (!fresh) return;
	const older = !box.previousElementSibling, below = root.scrollHeight - scrollY;
	const live = part.ariaLive, some = [...fresh.children];
	part.ariaLive = "off"; // nobody is read what is old
	setTimeout(() => part.ariaLive = live, 500);
	box.replaceWith(...some);
	tidy(part);
	if (older) scrollTo(0, root.scrollHeight - below);
	if (some.length > 1) observe(); // else one looks for what is rare, and asks for each part
}
const observe = () => document.querySelectorAll("[data-more]").forEach(e => near.observe(e));

// load brings a part up to date, and says whether there may be more of it.
async function load(part) {
	const after = part.firstElementChild.dataset.after;
	const query = new URLSearchParams(part.dataset.query);
	query.set("part", part.dataset.part);
	if (after !== undefined) query.set("after", after);
	const fresh = await fragment("?" + query);
	if (after === undefined) {
		const folds = part.querySelectorAll("details"), bare = e => e.innerHTML.replace(/value="\d+-[^"]*"/g, "");
		fresh.querySelectorAll("details").forEach((e, i) => e.open ||= folds[i]?.open);
		if (!part.contains(document.activeElement) && bare(fresh) !== bare(part.firstElementChild))
			grow(() => part.replaceChildren(fresh));
		say(part.querySelector("#state"));
		unread();
		return false;
	}
	grow(() => {
		part.firstElementChild.append(...fresh.children);
		part.firstElementChild.dataset.after = fresh.dataset.after;
		tidy(part);
	});
	unread();
	return fresh.dataset.after !== after;
}

// say has a screen reader say how things stand, once.
const news = one("#news");
function say(state) {
	if (state && news.textContent !== state.textContent) news.textContent = state.textContent;
}

// Rooms with lines that this browser has not shown are marked; it keeps how far it has shown each.
function unread() {
	if (main.dataset.live !== undefined && room && !document.hidden && end() < 48) kept["seen " + room] = parts.lines.firstElementChild.dataset.after;
	for (const li of document.querySelectorAll("[data-room][data-end]")) {
		const seen = kept["seen " + li.dataset.room] ??= li.dataset.end;
		li.querySelector("b").hidden = +seen >= li.dataset.end;
	}
}

// The turn under way: what streams, until its lines stand in the room.
let rooms = new Set(), streams = {}, calls = {};
const mine = () => rooms.size === 0 || rooms.has(room);

function stream(kind, e) {
	if (!live || !mine()) return;
	grow(() => {
		let text = streams[kind];
		if (!text?.isConnected) {
			text = streams[kind] = make(kind === "thinking" ? "pre" : "div", "streams said");
			const box = kind === "thinking" ? make("details", "did") : make("article", "line own");
			if (kind === "thinking") box.append(make("summary", "", "thinks"));
			else box.appendChild(make("header", "")).append(make("b", "", agent));
			box.append(text);
			live.append(box);
		}
		if (!e.from) text.textContent = "";
		text.append(e.text ?? "");
	});
}

function call(e) {
	if (!live || !mine()) return;
	const box = calls[e.entry] ??= make("details", "did");
	if (!box.isConnected) grow(() => {
		const about = e.args?.command ?? e.args?.path ?? e.args?.query ?? e.args?.room ?? "";
		const head = make("summary", "");
		head.append(make("b", "", e.tool), " ", make("code", "", String(about).split("\n")[0].slice(0, 120)), " ", make("span", "soft", "runs"));
		box.append(head, make("pre", ""));
		live.append(box);
	});
	return box;
}

// shown waits until a message stands in its room, or in the list of rooms: it is decided before it is posted.
let showing = Promise.resolve();
async function shown(e) {
	const here = [e.room, ...(e.rooms ?? [])].includes(room);
	const stands = () => here ? parts.lines.querySelectorAll(".own").length : parts.rooms?.textContent;
	const before = stands();
	await refresh("lines", "rest", "rooms");
	for (let wait = 50; stands() === before && wait < 2000; wait *= 2) {
		await new Promise(done => setTimeout(done, wait));
		await refresh("lines", "rest", "rooms");
	}
}

const happened = {
	"turn.start": () => { clear(); refresh("foot"); },
	"user.message": e => { rooms.add(e.room); refresh("lines", "rest", "foot", "rooms"); },
	"forgot": () => refresh("rest", "mind"),
	"reminded": () => refresh("rest"),
	"opened": () => refresh("rest"),
	"usage": () => refresh("mind"),
	"thinking.delta": e => stream("thinking", e),
	"thinking.done": () => delete streams.thinking,
	"message.delta": e => stream("message", e),
	"message.done": e => { delete streams.message; showing = shown(e); },
	"tool.request": e => { call(e); refresh("foot"); },
	"tool.output": e => {
		const pre = call(e)?.querySelector("pre");
		if (pre) grow(() => { if (!e.from) pre.textContent = ""; pre.append(e.text ?? ""); });
	},
	"tool.result": e => {
		refresh("foot");
		const box = call(e);
		if (!box) return;
		box.querySelector("summary span").textContent = e.status;
		box.querySelector("pre").textContent = e.text ?? "";
	},
	"turn.end": async () => {
		const turn = rooms;
		await showing;
		await refresh("lines", "rest", "foot", "rooms");
		if (turn === rooms) grow(clear);
	},
};

function clear() {
	live?.replaceChildren();
	rooms = new Set(), streams = {}, calls = {};
}

// A browser has six connections to a server, for all tabs: one that nobody sees lets go of its own.
let source, opened = false;
function follow(after) {
	source?.close();
	document.onvisibilitychange = () => follow(after);
	if (document.hidden) return;
	unread();
	const events = () => `/api/agents/${agent}/events?after=${encodeURIComponent(after)}`;
	source = new EventSource(events());
	const types = ("turn.start user.message thinking.delta thinking.done message.delta message.done tool.request tool.output tool.result file.changed usage turn.end error " +
		"forgot reminded opened asked answered fired note joined left paused booted resumed stopped").split(" ");
	for (const type of types) source.addEventListener(type, m => {
		if (m.data === undefined) return; // the connection's own error
		after = m.lastEventId || after;
		(happened[type] ?? (() => refresh("foot")))(JSON.parse(m.data));
		if (!type.endsWith("delta") && type !== "tool.output") refresh("events");
	});
	source.onopen = () => {
		tell("");
		if (opened) refresh(...Object.keys(parts)); // the page itself is as new as its first stream
		opened = true;
	};
	source.onerror = async e => {
		if (e.data !== undefined) return; // an event of that name
		wrong?.textContent || tell("The connection is lost; what happens meanwhile is shown when it is back.");
		if (source.readyState !== EventSource.CLOSED) return;
		const answer = await fetch(events(), {method: "HEAD"}).catch(() => {});
		if ([401, 421].includes(answer?.status)) return tell("You are not logged in any more: open a new link, which lethe serve --open prints, and reload.");
		if (answer?.status !== 410) return setTimeout(follow, 2000, after);
		tell("The log was cut or replaced: what is shown may not be in it any more. ");
		wrong?.append(Object.assign(make("button", "", "Load it anew"), {onclick: () => location.reload()}));
	};
	onpagehide = () => source.close();
	onpageshow = e => e.persisted && location.reload();
}

const wrong = one("#wrong");
const tell = text => { if (wrong && wrong.textContent !== text) wrong.textContent = text; };

// Saying a line: once, since the form keeps its key until the server has taken it.
const form = one("#say");
if (form) {
	const draft = "draft " + room;
	form.text.value ||= kept[draft] ?? "";
	form.text.addEventListener("input", () => { kept[draft] = form.text.value.slice(0, 1e5); });
	form.text.addEventListener("keydown", e => {
		if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); form.requestSubmit(); }
	});
	form.addEventListener("submit", async e => {
		e.preventDefault();
		const button = form.querySelector("button");
		if (button.disabled) return;
		button.disabled = true;
		try {
			const answer = await fetch(form.action, {method: "POST", body: new FormData(form), headers: {Accept: "application/json"}});
			if (!answer.ok) throw new Error(parse(await answer.text()).querySelector(".trouble")?.textContent.trim());
			const key = form.key.value;
			form.reset();
			delete kept[draft];
			form.key.value = Math.floor(Date.now() / 1000) + "-" + key.slice(-8) + Math.random().toString(36).slice(2);
			scrollBy(0, end());
			tell("");
			refresh("lines", "foot");
		} catch (err) {
			tell((err.message && !(err instanceof TypeError) ? err.message : "The server does not answer.") + " Your text is kept.");
		}
		button.disabled = false;
		form.text.focus();
	});
}

// Notices: a browser makes a subscription, which the server keeps. What is installed keeps the shell, too.
const notices = one("#push");
if (notices || matchMedia("(display-mode: standalone)").matches) navigator.serviceWorker?.register("/worker.js");
if (notices && navigator.serviceWorker && window.PushManager) {
	one("#nopush").hidden = !(notices.hidden = false);
	notices.name.value = navigator.userAgentData?.platform || navigator.platform;
	notices.onsubmit = async e => {
		e.preventDefault();
		try {
			const {pushManager: push} = await navigator.serviceWorker.ready;
			await (await push.getSubscription())?.unsubscribe(); // which another key may have made
			const made = await push.subscribe({userVisibleOnly: true, applicationServerKey: notices.dataset.key});
			notices.subscription.value = JSON.stringify(made);
			notices.submit();
		} catch (err) { tell("This browser refuses: " + err.message); }
	};
}

// A form that is checked shows what would come of it as one types.
const checked = one("form[data-check]");
let checking;
checked?.addEventListener("input", () => {
	clearTimeout(checking);
	checking = setTimeout(async () => {
		const typed = new URLSearchParams(new FormData(checked));
		typed.set("do", "check");
		typed.set("part", "check");
		const answer = await fetch(checked.action, {method: "POST", body: typed}).catch(() => {});
		if (answer?.headers.get("Content-Type")?.startsWith("text/html"))
			checked.querySelector("[data-checked]").replaceChildren(...parse(await answer.text()).body.childNodes);
	}, 250);
});

document.addEventListener("click", async e => {
	const button = e.target.closest(".copy");
	if (!button) return;
	const from = button.closest(".line").id.slice(1);
	try {
		const said = await (await fetch(`/api/rooms/${room}/lines?limit=1&after=${from}`)).json();
		await navigator.clipboard.writeText(said.items[0].text);
		button.textContent = "Copied";
	} catch { button.textContent = "Not copied"; }
	setTimeout(() => button.textContent = "Copy", 2000);
});

if (main.dataset.live !== undefined) {
	// One begins at the first line that this browser has not shown, or at the end.
	if (location.hash === "#end") kept["seen " + room] = 1e15, history.replaceState(0, "", location.search); // one acted: no news
	const seen = kept["seen " + room], fresh = [...document.querySelectorAll(".line")].find(e => +e.id.slice(1) >= seen);
	fresh?.before(make("p", "day new", "New"));
	if (!location.hash && end() > 0) scrollBy(0, Math.min(end(), fresh ? fresh.previousElementSibling.getBoundingClientRect().top - 48 : end()));
	follow(main.dataset.live);
	onscroll = unread;
} else unread();
addEventListener("load", observe); // by then one is where the address leads
