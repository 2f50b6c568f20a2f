/* Opens and exports each file that standard input names, as a vendor's program would, and prints the code of each: damaged OUT.onnx */
#include <stdio.h>
#include <string.h>

#include "acme_onnx.h"

static int exported(const char *path, const char *out, char **error) {
    acme_onnx_model *model = NULL;
    char *missing = NULL;
    int code = acme_onnx_open(path, &model, error);
    if (code != 0) {
        return code;
    }
    code = acme_onnx_missing(model, &missing, error);
    acme_onnx_free(missing);
    if (code == 0) {
        code = acme_onnx_export(model, out, error);
    }
    acme_onnx_close(model);
    return code;
}

int main(int count, char **args) {
    char path[4096];
    if (count != 2) {
        return 2;
    }
    while (fgets(path, sizeof path, stdin) != NULL) {
        char *error = NULL;
        int code;
        path[strcspn(path, "\n")] = '\0';
        code = exported(path, args[1], &error);
        printf("%d %s\n", code, error == NULL ? "none" : "text");
        acme_onnx_free(error);
    }
    return 0;
}
