// All views but the search, which is shown first: they are loaded behind it.

import * as agents from "./agents.js";
import * as ask from "./ask.js";
import * as changes from "./changes.js";
import * as digest from "./digest.js";
import * as entries from "./entries.js";
import * as facts from "./facts.js";
import * as graph from "./graph.js";
import * as notes from "./notes.js";
import * as processing from "./processing.js";
import * as profile from "./profile.js";
import * as review from "./review.js";
import * as see from "./see.js";
import * as settings from "./settings.js";
import * as stats from "./stats.js";
import * as summaries from "./summaries.js";

export const VIEWS = {
  ask, settings, agents: agents.view, changes: changes.view, digest: digest.view, entries: entries.view, facts: facts.view, graph: graph.view,
  notes: notes.view, processing: processing.view, profile: profile.view, review: review.view, see: see.view, stats: stats.view,
  summaries: summaries.view,
};
