/* SPDX-License-Identifier: BSD-3-Clause */
/* The connection to the daemon. See conn.h. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "conn.h"

#define CHUNK 65536

volatile sig_atomic_t conn_interrupted;

bool conn_open(struct conn *c, const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd;

	memset(c, 0, sizeof(*c));
	c->fd = -1;
	c->path = path;
	if (strlen(path) >= sizeof(un.sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(un.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	if (connect(fd, (struct sockaddr *)&un, sizeof(un)) != 0) {
		int e = errno;

		close(fd);
		errno = e;
		return false;
	}
	c->fd = fd;
	return true;
}

void conn_close(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	buf_free(&c->out);
	buf_free(&c->in);
	c->in_at = 0;
}

bool conn_closed(const struct conn *c)
{
	char byte;

	return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void conn_put(struct conn *c, const char *bytes, size_t len)
{
	buf_add(&c->out, bytes, len);
}

static bool take_in(struct conn *c)
{
	ssize_t n;

	if (c->in_at > 0) {
		buf_consume(&c->in, c->in_at);
		c->in_at = 0;
	}
	if (!buf_reserve(&c->in, CHUNK))
		return false;
	n = recv(c->fd, c->in.s + c->in.len, CHUNK, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	c->in.len += (size_t)n;
	c->in.s[c->in.len] = '\0';
	return true;
}

/* Waits until something can be done, and does it. False: the connection is gone. */
static bool exchange(struct conn *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};

	if (c->out.len > 0)
		p.events |= POLLOUT;
	if (poll(&p, 1, -1) < 0)
		return errno == EINTR && !conn_interrupted;
	if (conn_interrupted)
		return false;
	if (p.revents & (POLLIN | POLLHUP | POLLERR)) {
		if (!take_in(c))
			return false;
	}
	if ((p.revents & POLLOUT) && c->out.len > 0) {
		ssize_t n = send(c->fd, c->out.s, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			/* What the daemon said before it closed is still to be read. */
			buf_consume(&c->out, c->out.len);
			return true;
		}
		if (n > 0)
			buf_consume(&c->out, (size_t)n);
	}
	return true;
}

bool conn_flush(struct conn *c, size_t most)
{
	while (c->fd >= 0 && c->out.len > most) {
		if (!exchange(c))
			return false;
	}
	return c->fd >= 0;
}

char *conn_line(struct conn *c, bool wait, size_t *len)
{
	size_t seen = 0;

	for (;;) {
		size_t have = c->in.len - c->in_at;
		char *line = c->in.s != NULL ? c->in.s + c->in_at : NULL;
		char *nl = have > seen ? memchr(line + seen, '\n', have - seen) : NULL;

		if (nl != NULL) {
			*nl = '\0';
			*len = (size_t)(nl - line);
			c->in_at += *len + 1;
			return line;
		}
		if (!wait || c->fd < 0)
			return NULL;
		seen = have;
		if (!exchange(c))
			return NULL;
	}
}
