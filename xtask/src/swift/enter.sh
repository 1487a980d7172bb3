# Runs a program inside the Swift system: ROOT REPOSITORY NAME=VALUE... PROGRAM ARGUMENT...
# Started by `unshare --mount`: the mounts belong to this process's own namespace and vanish with it.
set -eu
root=$1 repository=$2
shift 2
mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
# After /tmp, since the repository may lie there; at its own path, since build products name it.
mkdir -p "$root$repository"
mount --bind "$repository" "$root$repository"
exec chroot "$root" /usr/bin/env -i --chdir="$repository" "$@"
