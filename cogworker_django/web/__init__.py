"""The web pages (Contract 6): views, what they show, who may see it.

- `routes` names the pages. `page` is what they have in common: log-in, rights, tokens, headers, outages. `frame` is
  what stands around their content; `access`, `links`, `headers`, `preferences` and `notices` are its parts.
- One module a tab: `overview`, `jobs`, `schedules`, `workers`, `history`; `queue`, `job` and `operations` beside them.
- `masking` is the only way of arguments and messages to a page. `rows`, `process_cards`, `swarms`, `charts`, `paging`,
  `searching`, `locating`, `wording` and `cron_words` make what templates show; templates compute nothing.
- `extend` is for tabs of projects; `metrics` for machines.

May import `core`, `runtime` and `api`, and Django; never `store`.
"""
