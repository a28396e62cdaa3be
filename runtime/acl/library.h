// Which libraries stand behind the ACL calls: CANN's, or the simulator's. They are opened when they are first
// needed and are never closed.
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace onnx_ascend {

// One place that was looked at, in order.
struct SearchedLibrary {
    std::string library;  // "ascendcl", "nnopbase" or "opapi"
    std::string path;
    bool found = false;
    std::string error;  // why it was not used; empty when found
};

// The outcome of a search. Immutable but for the operator libraries, which open one by one as kernels are
// looked up, from any thread.
class Libraries {
  public:
    // Looks for the libraries that ONNX_ASCEND_BACKEND asks for. Never throws for a library that is not
    // there: `error()` says so.
    Libraries();

    // What ONNX_ASCEND_BACKEND asked for: "auto" (also where it is unset), "cann" or "simulator"; or what it
    // wrongly is.
    const std::string& requested() const { return requested_; }

    // "cann" or "simulator"; empty when nothing was found.
    const std::string& backend() const { return backend_; }

    // Empty, or one line that says what was looked for and where.
    const std::string& error() const { return error_; }

    std::vector<SearchedLibrary> searched() const;
    const std::string& ascendcl_path() const { return ascendcl_.path; }
    const std::string& nnopbase_path() const { return nnopbase_.path; }

    // The first operator library that has been opened; empty before a kernel was found.
    std::string opapi_path() const;

    // Null when the library does not have it.
    void* ascendcl_symbol(const char* name) const;
    void* nnopbase_symbol(const char* name) const;

    // Looks in the operator libraries in CANN's order: user's custom ones, the split ones, then libopapi.so.
    // The first one that has both phases answers: two halves of one kernel must not come from two libraries.
    struct KernelSymbols {
        void* get_workspace_size = nullptr;
        void* run = nullptr;
    };
    KernelSymbols kernel_symbols(const std::string& name);

  private:
    struct Opened {
        void* handle = nullptr;
        std::string path;
    };
    struct Candidate {
        std::string path;
        bool owner_matters = false;  // a user's folder: CANN opens only files of the user or of root
        bool tried = false;
        Opened opened;
    };

    bool find_cann();
    bool find_simulator();
    bool open_base(const std::vector<std::string>& runtime, const std::vector<std::string>& base);
    Opened open_first(const char* library, const std::vector<std::string>& paths);
    Opened open(const char* library, const std::string& path);
    void add_custom_candidates();
    void* open_candidate(Candidate& candidate);
    std::string searched_text() const;

    mutable std::mutex mutex_;  // guards what looking kernels up changes: `searched_` and `operators_`
    std::string requested_;
    std::string backend_;
    std::string error_;
    std::vector<SearchedLibrary> searched_;
    Opened ascendcl_;
    Opened nnopbase_;
    std::vector<Candidate> operators_;
};

// Where this shared library itself lies.
std::string own_folder();

// The set_env.sh of an installed CANN, the user's own before the machine's; empty where there is none.
// Without what it sets, CANN does not work.
std::string set_env_script();

}  // namespace onnx_ascend
