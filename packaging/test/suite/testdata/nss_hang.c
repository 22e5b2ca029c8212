/* A directory without accounts, which gives no answer while a file is there: but of
 * root, for whom real ones are not asked either. Names that begin with "slow" never
 * get one: they are of a domain whose server is away. */
#include <errno.h>
#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

/* setpriv --reuid 0 looks for an account of that name first. */
static int is_root(const char *name) { return strcmp(name, "root") == 0 || strcmp(name, "0") == 0; }

static enum nss_status answer(const char *name, int *err) {
	while (!is_root(name) && (access("/run/directory-hangs", F_OK) == 0 || strncmp(name, "slow", 4) == 0))
		usleep(20000);
	*err = ENOENT;
	return NSS_STATUS_NOTFOUND;
}

enum nss_status _nss_hang_getpwnam_r(const char *n, struct passwd *p, char *b, size_t l, int *err) { return answer(n, err); }
enum nss_status _nss_hang_getpwuid_r(uid_t u, struct passwd *p, char *b, size_t l, int *err) { return answer("", err); }
enum nss_status _nss_hang_getgrnam_r(const char *n, struct group *g, char *b, size_t l, int *err) { return answer(n, err); }
enum nss_status _nss_hang_getgrgid_r(gid_t i, struct group *g, char *b, size_t l, int *err) { return answer("", err); }
enum nss_status _nss_hang_initgroups_dyn(const char *n, gid_t g, long *s, long *z, gid_t **gs, long m, int *err) {
	return answer(n, err);
}
