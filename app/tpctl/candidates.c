/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion with what the running router knows. See candidates.h. */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "conn.h"

#include "candidates.h"

/* The values of key; of items of a type only, unless that is NULL. A connection of its own: it is
 * closed as soon as enough has come. */
static void ask(const char *socket, const char *command, const char *key, const char *type,
		struct cli_completion *out)
{
	struct conn c;
	size_t len;
	char *line;

	if (!conn_open(&c, socket))
		return;
	conn_put(&c, command, strlen(command));
	if (conn_flush(&c, 0)) {
		while (out->n < CLI_MAX_CANDIDATES && (line = conn_line(&c, true, &len)) != NULL) {
			json_t *answer = json_loadb(line, len, 0, NULL);
			json_t *items = json_object_get(answer, "items");

			for (size_t i = 0; i < json_array_size(items); i++) {
				const json_t *item = json_array_get(items, i);
				const char *word = json_string_value(json_object_get(item, key));
				const char *is = json_string_value(json_object_get(item, "type"));

				if (word != NULL &&
				    (type == NULL || (is != NULL && strcmp(is, type) == 0)))
					cli_complete_add(out, word, "");
			}
			json_decref(answer);
			if (items == NULL)
				break;
		}
	}
	conn_close(&c);
}

static void files(struct cli_completion *out)
{
	char pattern[300], name[300];
	struct stat st;
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s*", out->word);
	if (strpbrk(out->word, "*?[") != NULL || glob(pattern, 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		bool dir = stat(g.gl_pathv[i], &st) == 0 && S_ISDIR(st.st_mode);

		snprintf(name, sizeof(name), "%s%s", g.gl_pathv[i], dir ? "/" : "");
		cli_complete_add(out, name, "");
	}
	globfree(&g);
}

void candidates_find(const char *socket, const char *line, bool for_help,
		     struct cli_completion *out)
{
	cli_complete(line, for_help, out);
	switch (out->source) {
	case CLI_NO_SOURCE:
	case CLI_COMMANDS:
		break;
	case CLI_IFACES:
		ask(socket, "interface show\n", "name", NULL, out);
		break;
	case CLI_POOLS:
		ask(socket, "nat pool show\n", "name", NULL, out);
		break;
	case CLI_RULES:
		ask(socket, "nat rule show\n", "name", NULL, out);
		break;
	case CLI_ADDRESSES:
		ask(socket, "address show\n", "address", NULL, out);
		break;
	case CLI_NEIGHBOURS:
		ask(socket, "neighbour show\n", "address", NULL, out);
		break;
	case CLI_ROUTES:
		/* the others come and go by themselves */
		ask(socket, "route show\n", "prefix", "static", out);
		break;
	case CLI_FILES:
		files(out);
		break;
	}
}
