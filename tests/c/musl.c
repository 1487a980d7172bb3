/* HZ-F16: a system with another C library either loads the library or says why not. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (library != NULL) {
    return dlsym(library, "sluice_abi_version") == NULL;
  }
  printf("musl: %s\n", dlerror());
  return argc != 2;
}
