/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Says whether a configuration makes sense by itself, and if not, what is wrong with which rule.
 * Relations between rules are found while they are compiled (nat_config.c).
 */
#ifndef TURNPIKE_NAT_CHECK_H
#define TURNPIKE_NAT_CHECK_H

#include "nat.h"

/* 0, or -EINVAL and a message. */
int nat_check_conf(const struct nat_conf *conf, char *err, size_t err_len);

/* Writes the message, returns -EINVAL. */
int nat_check_fail(char *err, size_t err_len, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* "snat rule 'lan'" into buf. */
const char *nat_check_rule_name(const struct nat_rule *r, char *buf, size_t len);

#endif /* TURNPIKE_NAT_CHECK_H */
