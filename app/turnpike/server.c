/* SPDX-License-Identifier: BSD-3-Clause */
/* The control socket. See server.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/parse.h"

#include "answer.h"
#include "configure.h"
#include "load.h"
#include "log.h"
#include "names.h"
#include "save.h"
#include "show.h"
#include "show_nat.h"
#include "transition.h"

#include "server.h"

#define IN_MAX	   (256u << 10) /* bytes read ahead of what was understood */
#define OUT_MAX	   (1u << 20)	/* no more is produced while this much waits */
#define TURN_MS	   20		/* of one client in one turn, or about that */
#define PARTIAL_MS 30000	/* half a line, or half a file, may take this long to go on */
#define IDLE_MS	   60000 /* a client that does nothing for so long may be dropped for a new one */

struct client {
	int fd;	       /* -1: free */
	uint32_t mask; /* what epoll waits for */
	struct buf in, out;
	bool eof;		/* no more comes in */
	bool closing;		/* closes when out is sent */
	uint64_t in_ms, out_ms; /* last time that something came in, went out */
	struct stream *stream;
	struct load *load; /* a file that is coming in */
	uint64_t load_left;
	bool load_apply; /* else only checked */
	size_t batch;	 /* where answers that wait for the commit begin in out */
};

struct server {
	char path[108];
	int fd, epoll_fd;
	uint64_t first_tag;
	struct router *r;
	char *config_path;
	struct client client[SERVER_CLIENTS];
	bool uncommitted;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* ---- the socket's place ---------------------------------------------------------------------- */

static void make_parents(const char *path)
{
	char dir[108];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *p = strchr(dir + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(dir, 0755);
		*p = '/';
	}
}

/* A daemon that was killed holds its lock until the kernel has taken its memory apart: whoever
 * starts the next one at once waits for that a moment. */
#define LOCK_PATIENCE_MS 2000
#define LOCK_RETRY_MS	 50

int server_lock(const char *path, int *lock_fd, struct fwd_err *err)
{
	struct sockaddr_un un;
	struct stat held, there;
	unsigned waited_ms = 0;
	char lock[120];

	if (strlen(path) >= sizeof(un.sun_path)) {
		snprintf(err->msg, sizeof(err->msg), "socket path is longer than %zu bytes",
			 sizeof(un.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	make_parents(path);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	for (;;) {
		int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
		char pid[24] = "";
		ssize_t n;

		if (fd < 0) {
			snprintf(err->msg, sizeof(err->msg), "%s: %s", lock, strerror(errno));
			return -errno;
		}
		if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
			if (waited_ms < LOCK_PATIENCE_MS) {
				close(fd);
				usleep(LOCK_RETRY_MS * 1000);
				waited_ms += LOCK_RETRY_MS;
				continue;
			}
			n = read(fd, pid, sizeof(pid) - 1);
			if (n > 0)
				pid[strcspn(pid, "\n")] = '\0';
			snprintf(err->msg, sizeof(err->msg),
				 "another turnpike runs on %s%s%s: stop it, or choose another "
				 "socket with -s",
				 path, pid[0] != '\0' ? ", process " : "", pid);
			close(fd);
			return -EBUSY;
		}
		/* The one before may have removed the file between our open and our lock. */
		if (fstat(fd, &held) == 0 && stat(lock, &there) == 0 &&
		    held.st_ino == there.st_ino) {
			snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
			if (ftruncate(fd, 0) != 0 || pwrite(fd, pid, strlen(pid), 0) < 0)
				log_warning("%s: %s", lock, strerror(errno));
			*lock_fd = fd;
			return 0;
		}
		close(fd);
	}
}

void server_unlock(const char *path, int lock_fd)
{
	char lock[120];

	snprintf(lock, sizeof(lock), "%s.lock", path);
	unlink(lock);
	close(lock_fd);
}

static int fail(struct fwd_err *err, const char *what)
{
	int ret = -errno;

	snprintf(err->msg, sizeof(err->msg), "%.150s: %s", what, strerror(-ret));
	return ret;
}

static int listen_on(const char *path, struct fwd_err *err)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct stat st;
	mode_t old;
	int fd, ret;

	if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode)) {
		snprintf(err->msg, sizeof(err->msg), "%.150s is there and is no socket", path);
		return -EEXIST;
	}
	unlink(path); /* nobody listens: we hold the lock */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail(err, "socket");
	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	old = umask(0117); /* mode 0660 from the first moment on */
	ret = bind(fd, (struct sockaddr *)&un, sizeof(un));
	umask(old);
	if (ret != 0 || listen(fd, SERVER_CLIENTS) != 0) {
		ret = fail(err, path);
		close(fd);
		return ret;
	}
	return fd;
}

struct server *server_open(const char *path, struct router *r, const char *config_path,
			   int epoll_fd, uint64_t first_tag, struct fwd_err *err)
{
	struct server *s = calloc(1, sizeof(*s));
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = first_tag};

	if (s == NULL) {
		snprintf(err->msg, sizeof(err->msg), "out of memory");
		return NULL;
	}
	snprintf(s->path, sizeof(s->path), "%s", path);
	s->r = r;
	s->epoll_fd = epoll_fd;
	s->first_tag = first_tag;
	if (config_path != NULL)
		s->config_path = realpath(config_path, NULL);
	for (unsigned i = 0; i < SERVER_CLIENTS; i++)
		s->client[i].fd = -1;
	s->fd = listen_on(path, err);
	if (s->fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, s->fd, &ev) != 0) {
		if (s->fd >= 0)
			fail(err, "epoll");
		free(s->config_path);
		free(s);
		return NULL;
	}
	return s;
}

/* ---- clients --------------------------------------------------------------------------------- */

static void end_client(struct server *s, struct client *c)
{
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	buf_free(&c->in);
	buf_free(&c->out);
	if (c->stream != NULL)
		c->stream->free(c->stream);
	load_free(c->load);
	memset(c, 0, sizeof(*c));
	c->fd = -1;
}

void server_close(struct server *s)
{
	for (unsigned i = 0; i < SERVER_CLIENTS; i++) {
		if (s->client[i].fd >= 0)
			end_client(s, &s->client[i]);
	}
	close(s->fd);
	unlink(s->path);
	free(s->config_path);
	free(s);
}

static void wait_for(struct server *s, struct client *c)
{
	uint32_t mask = 0;
	struct epoll_event ev;

	if (!c->eof && !c->closing && c->in.len < IN_MAX)
		mask |= EPOLLIN;
	if (c->out.len > 0)
		mask |= EPOLLOUT;
	if (mask == c->mask)
		return;
	c->mask = mask;
	ev.events = mask;
	ev.data.u64 = s->first_tag + 1 + (uint64_t)(c - s->client);
	epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, c->fd, &ev);
}

static uint64_t last_ms(const struct client *c)
{
	return c->in_ms > c->out_ms ? c->in_ms : c->out_ms;
}

/* A place for a new client: a free one, or that of the client that has done nothing for longest. */
static struct client *find_place(struct server *s)
{
	uint64_t now = now_ms();
	struct client *idle = NULL;

	for (unsigned i = 0; i < SERVER_CLIENTS; i++) {
		struct client *c = &s->client[i];

		if (c->fd < 0)
			return c;
		if (now - last_ms(c) > IDLE_MS && (idle == NULL || last_ms(c) < last_ms(idle)))
			idle = c;
	}
	if (idle != NULL) {
		log_warning("control: dropping an idle client for a new one");
		end_client(s, idle);
	}
	return idle;
}

static void accept_clients(struct server *s)
{
	for (;;) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct epoll_event ev = {.events = EPOLLIN};
		struct client *c;

		if (fd < 0)
			return;
		c = find_place(s);
		if (c == NULL) {
			struct cli_error e;
			struct buf text = {0};

			cli_error_set(&e, 1, 0, "more than %d clients", SERVER_CLIENTS);
			answer_error(&text, &e);
			if (send(fd, text.s, text.len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
				log_warning("control: %s", strerror(errno));
			buf_free(&text);
			close(fd);
			continue;
		}
		c->fd = fd;
		c->mask = EPOLLIN;
		c->in_ms = c->out_ms = now_ms();
		ev.data.u64 = s->first_tag + 1 + (uint64_t)(c - s->client);
		if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0) {
			log_warning("control: epoll: %s", strerror(errno));
			close(fd);
			c->fd = -1;
		}
	}
}

static void read_in(struct server *s, struct client *c)
{
	while (!c->eof && c->in.len < IN_MAX) {
		ssize_t n;

		if (!buf_reserve(&c->in, 65536)) {
			end_client(s, c);
			return;
		}
		n = recv(c->fd, c->in.s + c->in.len, 65536, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			end_client(s, c);
			return;
		}
		if (n == 0) {
			c->eof = true;
			return;
		}
		c->in.len += (size_t)n;
		c->in.s[c->in.len] = '\0';
		c->in_ms = now_ms();
	}
}

static void send_out(struct server *s, struct client *c)
{
	while (c->out.len > 0) {
		ssize_t n = send(c->fd, c->out.s, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			end_client(s, c);
			return;
		}
		buf_consume(&c->out, (size_t)n);
		c->out_ms = now_ms();
	}
}

void server_event(struct server *s, uint64_t tag, uint32_t events)
{
	struct client *c;

	if (tag == s->first_tag) {
		accept_clients(s);
		return;
	}
	c = &s->client[tag - s->first_tag - 1];
	if (c->fd < 0)
		return; /* ended earlier in this turn */
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_in(s, c);
	if (c->fd >= 0 && (events & EPOLLHUP) && c->eof)
		end_client(s, c); /* both directions are closed: nobody reads an answer */
}

/* ---- committing ------------------------------------------------------------------------------ */

/* The commands of this batch are not done after all: says so in their places. */
static void refuse_batch(struct client *c, const struct cli_error *e)
{
	struct buf out = {0};
	size_t at = c->batch;

	buf_add(&out, c->out.s, at);
	while (at < c->out.len) {
		size_t n = strcspn(c->out.s + at, "\n") + 1;

		if (n == strlen(ANSWER_DONE) && memcmp(c->out.s + at, ANSWER_DONE, n) == 0)
			answer_error(&out, e);
		else
			buf_add(&out, c->out.s + at, n);
		at += n;
	}
	buf_free(&c->out);
	c->out = out;
}

static void commit(struct server *s)
{
	struct fwd_err err = {0};
	struct cli_error e;
	int ret;

	if (!s->uncommitted)
		return;
	s->uncommitted = false;
	ret = router_commit(s->r, &err);
	if (ret != 0) {
		log_error("commit: %s", err.msg[0] != '\0' ? err.msg : strerror(-ret));
		cli_error_set(&e, 1, 0, "%s", err.msg[0] != '\0' ? err.msg : strerror(-ret));
		cli_error_hint(&e, "nothing was changed");
	}
	for (unsigned i = 0; i < SERVER_CLIENTS; i++) {
		struct client *c = &s->client[i];

		if (c->fd < 0)
			continue;
		if (ret != 0 && c->batch < c->out.len)
			refuse_batch(c, &e);
		c->batch = c->out.len;
	}
	log_set_level(s->r->log_level);
}

/* ---- commands -------------------------------------------------------------------------------- */

static void done_with(struct client *c, const char *key, json_t *value)
{
	answer_put(&c->out, json_pack("{s:b, s:o}", "ok", 1, key, value));
}

static void answer_object(struct client *c, json_t *object)
{
	json_t *all = json_pack("{s:b}", "ok", 1);

	json_object_update(all, object);
	json_decref(object);
	answer_put(&c->out, all);
}

static void save(struct server *s, struct client *c, const struct cli_cmd *cmd)
{
	const struct cli_value *file = cli_get(cmd, "FILE");
	const char *path = file != NULL ? file->text : s->config_path;
	struct cli_error e;
	int ret;

	if (path == NULL || path[0] != '/') {
		if (path == NULL)
			cli_error_set(&e, 1, 0,
				      "the daemon was started without a configuration file");
		else
			cli_error_set(&e, 1, file->column, "FILE must be an absolute path");
		cli_error_hint(&e, "wants config save /PATH");
		answer_error(&c->out, &e);
		return;
	}
	ret = save_file(path, s->r);
	if (ret != 0) {
		cli_error_set(&e, 1, file != NULL ? file->column : 0, "%.200s: %s", path,
			      strerror(-ret));
		answer_error(&c->out, &e);
		return;
	}
	done_with(c, "file", answer_text(path));
}

static void clear_sessions(struct server *s, struct client *c, const struct cli_cmd *cmd)
{
	struct nat_filter f;
	struct cli_error e;

	if (!show_session_filter(s->r, cmd, &f, &e)) {
		answer_error(&c->out, &e);
		return;
	}
	done_with(c, "sessions_cleared", json_integer((json_int_t)fwd_nat_clear(&f)));
}

static void flush_neighbours(struct server *s, struct client *c, const struct cli_cmd *cmd)
{
	struct cli_error e;
	uint16_t iface = FWD_IFACE_NONE;
	unsigned n;

	if (!names_iface(s->r, cmd, "interface", &iface, &e)) {
		answer_error(&c->out, &e);
		return;
	}
	n = fwd_neigh_flush(iface);
	s->r->changed = true;
	s->uncommitted = true;
	done_with(c, "neighbours_flushed", json_integer(n));
}

static void start_load(struct client *c, const struct cli_cmd *cmd)
{
	const struct cli_value *bytes = cli_get(cmd, "bytes"), *file = cli_get(cmd, "FILE");
	struct cli_error e;

	if (bytes == NULL) {
		cli_error_set(&e, 1, file->column, "the file's content must follow");
		cli_error_hint(&e, "tpctl reads and sends it; a program sends: config load NAME "
				   "bytes N, and N bytes");
		answer_error(&c->out, &e);
		return;
	}
	c->load = load_start(file->text);
	if (c->load == NULL) {
		cli_error_set(&e, 1, 0, "out of memory");
		answer_error(&c->out, &e);
		c->closing = true; /* or the file would be taken for commands */
		return;
	}
	c->load_left = bytes->number;
	c->load_apply = cmd->def->id == CLI_CONFIG_LOAD;
}

static void answer_load_errors(struct client *c, const struct load *l)
{
	json_t *list = json_array();
	struct cli_error e;

	cli_error_set(&e, 1, 0, "%u error%s in %s", l->n_errors, l->n_errors == 1 ? "" : "s",
		      l->name);
	cli_error_hint(&e, "nothing was changed");
	for (unsigned i = 0; i < l->n_errors && i < LOAD_MAX_ERRORS; i++) {
		json_t *o = answer_error_object(&l->errors[i].e);

		json_object_set_new(o, "file", answer_text(l->name));
		json_object_set_new(o, "line", json_integer(l->errors[i].line));
		json_array_append_new(list, o);
	}
	answer_put(&c->out, json_pack("{s:b, s:i, s:o, s:o}", "ok", 0, "status", 1, "error",
				      answer_error_object(&e), "errors", list));
}

static void end_load(struct server *s, struct client *c)
{
	struct load *l = c->load;
	struct cli_error e;

	c->load = NULL;
	if (!load_finish(l)) {
		answer_load_errors(c, l);
	} else if (!c->load_apply) {
		done_with(c, "checked", answer_text(l->name));
	} else {
		commit(s);
		if (transition(s->r, &l->router, &e)) {
			log_info("configuration %s loaded", l->name);
			done_with(c, "loaded", answer_text(l->name));
		} else {
			answer_error(&c->out, &e);
		}
		log_set_level(s->r->log_level);
	}
	load_free(l);
}

static void run_command(struct server *s, struct client *c, const struct cli_cmd *cmd)
{
	struct cli_error e;
	json_t *object;

	if (cmd->def->flags & CLI_CONFIG) {
		if (configure_run(s->r, cmd, &e)) {
			buf_puts(&c->out, ANSWER_DONE);
			s->uncommitted = true;
		} else {
			answer_error(&c->out, &e);
		}
		return;
	}
	commit(s); /* what is shown is what is in force */
	switch (cmd->def->id) {
	case CLI_CONFIG_SAVE:
		save(s, c, cmd);
		break;
	case CLI_CONFIG_LOAD:
	case CLI_CONFIG_CHECK:
		start_load(c, cmd);
		break;
	case CLI_SESSION_CLEAR:
		clear_sessions(s, c, cmd);
		break;
	case CLI_NEIGHBOUR_FLUSH:
		flush_neighbours(s, c, cmd);
		break;
	case CLI_STATS_RESET:
		fwd_stats_reset();
		done_with(c, "reset", json_true());
		break;
	default:
		if (!show_run(s->r, cmd, &c->stream, &object, &e))
			answer_error(&c->out, &e);
		else if (object != NULL)
			answer_object(c, object);
		break;
	}
}

static void run_line(struct server *s, struct client *c, char *line, size_t len)
{
	static struct cli_words words;
	static struct cli_cmd cmd;
	struct cli_error e;
	int ret = cli_parse(&words, line, len, 0, &cmd, &e);

	if (ret > 0)
		run_command(s, c, &cmd);
	else if (ret < 0)
		answer_error(&c->out, &e);
	/* an empty line or a comment has no answer */
}

static void too_long(struct client *c)
{
	struct cli_error e;

	cli_error_set(&e, 2, CLI_MAX_LINE, "line is longer than %d bytes", CLI_MAX_LINE - 1);
	cli_error_hint(&e, "the connection closes");
	answer_error(&c->out, &e);
	c->closing = true;
}

/* Whole lines and parts of files, as long as there is room for answers and time. */
static void take_in(struct server *s, struct client *c)
{
	uint64_t until = now_ms() + TURN_MS;
	size_t at = 0;
	unsigned n = 0;

	while (!c->closing && c->stream == NULL && c->out.len < OUT_MAX) {
		size_t left = c->in.len - at;
		char *line = c->in.s + at, *nl;

		if (++n % 32 == 0 && now_ms() >= until)
			break;
		if (c->load != NULL) {
			size_t take = left < c->load_left ? left : (size_t)c->load_left;

			if (take > 0)
				load_feed(c->load, line, take);
			at += take;
			c->load_left -= take;
			if (c->load_left > 0)
				break;
			end_load(s, c);
			continue;
		}
		if (left == 0)
			break;
		nl = memchr(line, '\n', left);
		if (nl == NULL && left >= CLI_MAX_LINE) {
			too_long(c);
			break;
		}
		if (nl == NULL && !c->eof)
			break;
		if (nl != NULL)
			left = (size_t)(nl - line);
		run_line(s, c, line, left);
		at += left + (nl != NULL);
	}
	buf_consume(&c->in, at);
}

static void produce(struct client *c)
{
	uint64_t until = now_ms() + TURN_MS / 2;

	while (c->stream != NULL && c->out.len < OUT_MAX) {
		json_t *items = json_array();
		bool more = items != NULL && c->stream->more(c->stream, items);

		answer_items(&c->out, items);
		if (!more) {
			c->stream->free(c->stream);
			c->stream = NULL;
			answer_put(&c->out, json_pack("{s:b, s:b}", "ok", 1, "list", 1));
		}
		if (now_ms() >= until)
			break; /* others want their turn too */
	}
}

static bool has_line(const struct client *c)
{
	if (c->load != NULL)
		return c->in.len > 0 || c->load_left == 0;
	return c->in.len > 0 &&
	       (c->eof || c->in.len >= CLI_MAX_LINE || memchr(c->in.s, '\n', c->in.len) != NULL);
}

static bool can_go_on(const struct client *c)
{
	if (c->fd < 0 || c->closing || c->out.len >= OUT_MAX)
		return false;
	return c->stream != NULL || has_line(c);
}

static bool is_partial(const struct client *c)
{
	return !c->eof && !c->closing && c->stream == NULL && c->out.len < OUT_MAX &&
	       (c->load != NULL || (c->in.len > 0 && !has_line(c)));
}

static void finish(struct server *s, struct client *c)
{
	struct cli_error e;

	if (c->eof && c->load != NULL && c->load_left > 0 && c->in.len == 0) {
		cli_error_set(&e, 2, 0, "the file ends %llu bytes early",
			      (unsigned long long)c->load_left);
		answer_error(&c->out, &e);
		c->closing = true;
	}
	if (is_partial(c) && now_ms() - c->in_ms > PARTIAL_MS) {
		cli_error_set(&e, 2, 0, "half a %s came, and nothing more for %d s",
			      c->load != NULL ? "file" : "line", PARTIAL_MS / 1000);
		cli_error_hint(&e, "the connection closes");
		answer_error(&c->out, &e);
		c->closing = true;
	}
	if (c->out.failed) {
		log_warning("control: out of memory for an answer, dropping a client");
		end_client(s, c);
		return;
	}
	send_out(s, c);
	if (c->fd < 0)
		return;
	c->batch = c->out.len;
	/* answered once: what was left undone goes */
	if (c->closing && c->load != NULL) {
		load_free(c->load);
		c->load = NULL;
	}
	if (c->out.len == 0 && (c->closing || (c->eof && c->stream == NULL && !has_line(c))))
		end_client(s, c);
	else
		wait_for(s, c);
}

bool server_turn(struct server *s)
{
	bool more = false;

	for (unsigned i = 0; i < SERVER_CLIENTS; i++) {
		struct client *c = &s->client[i];

		if (c->fd < 0)
			continue;
		produce(c);
		if (c->stream == NULL)
			take_in(s, c);
	}
	commit(s);
	for (unsigned i = 0; i < SERVER_CLIENTS; i++) {
		if (s->client[i].fd >= 0)
			finish(s, &s->client[i]);
		more = more || can_go_on(&s->client[i]);
	}
	return more;
}

int server_timeout(const struct server *s)
{
	for (unsigned i = 0; i < SERVER_CLIENTS; i++) {
		if (s->client[i].fd >= 0 && is_partial(&s->client[i]))
			return 1000;
	}
	return -1;
}
